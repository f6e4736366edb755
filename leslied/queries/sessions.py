"""Lists of sessions, with the totals of their subagents and their costs."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.model.query import Selection
from leslied.model.record import SessionKey, Usage
from leslied.model.stats import Cost
from leslied.queries.agent_names import check_agents
from leslied.store import SessionGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.session import SessionSummary
    from leslied.store import StoreQueries

ALL_SESSIONS = Selection()


def list_sessions(
    reader: StoreQueries,
    selection: Selection = ALL_SESSIONS,
    *,
    with_subagents: bool = False,
    with_costs: bool = False,
) -> list[SessionSummary]:
    """Return the selected sessions in order; totals include their subagents.

    Hidden subagents are listed only if the selection includes hidden sessions.

    With `with_subagents`, subagents are sorted among the sessions by their own tokens,
    cost or time; in any other order they follow their session. Raise UserError for an
    unknown agent.
    """
    check_agents(reader, selection.filters)
    # In reverse order, an old subagent of a recent session can come first, so the
    # limit must not exclude that session.
    is_limited_after_sorting = with_subagents and selection.is_reversed
    groups = reader.select_sessions(
        replace(selection, limit=None) if is_limited_after_sorting else selection
    )
    streams = reader.list_sessions(None if selection == ALL_SESSIONS else groups)
    if with_costs or selection.order == "cost":
        streams = add_costs(reader, streams)
    members_by_group = _group_streams(streams)
    sessions: list[SessionSummary] = []
    for group in groups:
        members = members_by_group[group[:2]]
        sessions += _merge_group(reader, members, with_subagents=with_subagents)
    if not selection.with_hidden:
        sessions = [session for session in sessions if not session.is_hidden]
    return _sort_sessions(sessions, selection)[: selection.limit]


def load_session_summary(
    reader: StoreQueries, agent: str, session_id: str, *, with_costs: bool = False
) -> SessionSummary:
    """Return one session; its totals include its subagents."""
    members = reader.list_sessions([SessionGroup(agent, session_id)])
    if with_costs:
        members = add_costs(reader, members)
    return _merge_group(reader, members, with_subagents=False)[0]


def find_sessions(
    reader: StoreQueries, names: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], SessionSummary]:
    """Return those of the named sessions that have entries, by agent and id.

    Their totals include their subagents.
    """
    streams = reader.list_sessions([SessionGroup(*name) for name in names])
    return {
        name: _merge_group(reader, members, with_subagents=False)[0]
        for name, members in _group_streams(streams).items()
    }


def list_sessions_by_id(
    reader: StoreQueries, ids: Iterable[str]
) -> list[SessionSummary]:
    """Return the sessions with these ids and their costs, last active first.

    Ids that no session has are ignored, and so are prefixes of ids.
    """
    agents = reader.list_agent_names()
    groups = [SessionGroup(agent, id_) for id_ in set(ids) for agent in agents]
    streams = add_costs(reader, reader.list_sessions(groups))
    sessions = [
        _merge_group(reader, members, with_subagents=False)[0]
        for members in _group_streams(streams).values()
    ]
    return sorted(sessions, key=lambda session: session.recency, reverse=True)


def _group_streams(
    streams: Iterable[SessionSummary],
) -> dict[tuple[str, str], list[SessionSummary]]:
    """Return the streams of each session, by agent and session id."""
    members_by_group: dict[tuple[str, str], list[SessionSummary]] = {}
    for stream in streams:
        members_by_group.setdefault(stream.key[:2], []).append(stream)
    return members_by_group


def _merge_group(
    reader: StoreQueries, members: list[SessionSummary], *, with_subagents: bool
) -> list[SessionSummary]:
    """Return the main session with its totals, followed by subagents if requested."""
    subagents = [session for session in members if session.is_subagent]
    mains = [session for session in members if not session.is_subagent]
    if mains:
        main = mains[0]
    else:
        # The log of the main session is missing.
        main = _make_main_from_subagent(_find_first_subagent(reader, subagents))
    total = _add_subagent_totals(main, subagents) if subagents else main
    return [total, *subagents] if with_subagents else [total]


def _find_first_subagent(
    reader: StoreQueries, subagents: list[SessionSummary]
) -> SessionSummary:
    """Return the one of a session's subagents that was read first."""
    by_key = {subagent.key: subagent for subagent in subagents}
    # `list_subagents` accepts the key of any stream of the session.
    in_read_order = reader.list_subagents(subagents[0].key)
    return next(by_key[s.key] for s in in_read_order if s.key in by_key)


def _make_main_from_subagent(subagent: SessionSummary) -> SessionSummary:
    """Return a main session with the subagent's fields and no usage of its own."""
    key = SessionKey(subagent.key.agent, subagent.key.session_id)
    return replace(
        subagent,
        key=key,
        stand_in=subagent.key,
        usage=Usage(),
        cost=Cost(),
        tool_calls=0,
    )


def _sort_sessions(
    sessions: list[SessionSummary], selection: Selection
) -> list[SessionSummary]:
    """Sort by values that the store cannot sort by: totals, and times of subagents."""
    match selection.order:
        case "tokens":
            sessions.sort(key=lambda s: s.usage.total_tokens, reverse=True)
        case "cost":
            sessions.sort(key=lambda s: s.cost.pico, reverse=True)
        case "recent":
            sessions.sort(key=lambda s: s.recency[0], reverse=True)
        case _:
            return sessions
    return sessions[::-1] if selection.is_reversed else sessions


def add_costs(
    reader: StoreQueries, sessions: Iterable[SessionSummary]
) -> list[SessionSummary]:
    """Return the sessions with the cost of their own messages, without subagents."""
    from leslied.prices import load_prices  # noqa: PLC0415 - rarely needed
    from leslied.queries.usage.totals import UsageStats  # noqa: PLC0415

    sessions = list(sessions)
    # For an empty list of streams, the costs of all streams would be computed.
    if not sessions:
        return sessions
    stats = UsageStats(reader.usage, load_prices())
    costs = stats.sum_session_costs([session.key for session in sessions])
    return [
        replace(session, cost=costs.get(session.key, Cost())) for session in sessions
    ]


def _add_subagent_totals(
    main: SessionSummary, subagents: list[SessionSummary]
) -> SessionSummary:
    """Return the session with the sums and the latest end of all its streams."""
    members = [main, *subagents]
    usage = sum((s.usage for s in members), Usage())
    cost = reduce(Cost.plus, (s.cost for s in members))
    end_times = [s.ended_at for s in members if s.ended_at]
    return replace(
        main,
        usage=usage,
        cost=cost,
        subagents=sum(not subagent.is_hidden for subagent in subagents),
        is_hidden=all(session.is_hidden for session in members),
        ended_at=max(end_times, default=None),
    )
