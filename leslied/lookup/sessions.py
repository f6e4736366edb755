"""Lists of sessions, with the totals of their subagents and their costs."""

from __future__ import annotations

from functools import reduce
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.lookup.agents import check_agents
from leslied.model.query import Selection
from leslied.model.record import SessionKey, Usage
from leslied.model.stats import Cost
from leslied.store import SessionGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.session import SessionSummary
    from leslied.store import StoreReader

ALL_SESSIONS = Selection()


def list_sessions(
    reader: StoreReader,
    selection: Selection = ALL_SESSIONS,
    *,
    with_subagents: bool = False,
    with_costs: bool = False,
) -> list[SessionSummary]:
    """Return the selected sessions in order; usage includes that of their subagents.

    Subagents, if included, are sorted by their own values if the order depends on
    totals or times, else they follow their session. Raises UserError for an unknown
    agent.
    """
    check_agents(reader, selection.filters)
    # An old subagent may belong to a recent session, so the limit applies later.
    is_mixed = with_subagents and selection.is_reversed
    groups = reader.select_sessions(
        replace(selection, limit=None) if is_mixed else selection
    )
    streams = reader.list_sessions(None if selection == ALL_SESSIONS else groups)
    if with_costs or selection.order == "cost":
        streams = add_costs(reader, streams)
    members: dict[tuple[str, str], list[SessionSummary]] = {}
    for stream in streams:
        members.setdefault(stream.key[:2], []).append(stream)
    sessions = [
        session
        for group in groups
        for session in _merge_group(members[group[:2]], with_subagents=with_subagents)
    ]
    return _sort_sessions(sessions, selection)[: selection.limit]


def load_session_summary(
    reader: StoreReader, agent: str, session_id: str, *, with_costs: bool = False
) -> SessionSummary:
    """Return one session; its usage includes that of its subagents."""
    members = reader.list_sessions([SessionGroup(agent, session_id)])
    if with_costs:
        members = add_costs(reader, members)
    return _merge_group(members, with_subagents=False)[0]


def _merge_group(
    members: list[SessionSummary], *, with_subagents: bool
) -> list[SessionSummary]:
    """Return the main session with its totals, followed by subagents if requested."""
    subagents = [session for session in members if session.is_subagent]
    mains = [session for session in members if not session.is_subagent]
    if mains:
        main = mains[0]
    else:
        # The log of the main session is missing: its first subagent represents it.
        main = _make_missing_main(min(subagents, key=attrgetter("row")))
    total = _add_children(main, subagents) if subagents else main
    return [total, *subagents] if with_subagents else [total]


def _make_missing_main(subagent: SessionSummary) -> SessionSummary:
    key = SessionKey(*subagent.key[:2])
    return replace(subagent, key=key, usage=Usage(), cost=Cost(), tool_calls=0)


def _sort_sessions(
    sessions: list[SessionSummary], selection: Selection
) -> list[SessionSummary]:
    """Sort by totals or by subagents' own times, which the store cannot sort by."""
    match selection.order:
        case "tokens":
            sessions.sort(key=lambda s: _count_tokens(s.usage), reverse=True)
        case "cost":
            sessions.sort(key=lambda s: s.cost.pico, reverse=True)
        case "recent":
            sessions.sort(key=lambda s: s.recency[0], reverse=True)
        case _:
            return sessions
    return sessions[::-1] if selection.is_reversed else sessions


def _count_tokens(usage: Usage) -> int:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return usage.input_tokens + usage.output_tokens + cached


def add_costs(
    reader: StoreReader, sessions: Iterable[SessionSummary]
) -> list[SessionSummary]:
    """Return the sessions with the costs of their own messages."""
    from leslied.prices import load_prices  # noqa: PLC0415 - rarely needed
    from leslied.stats import UsageStats  # noqa: PLC0415

    sessions = list(sessions)
    if not sessions:
        return sessions
    stats = UsageStats(reader.usage, load_prices())
    costs = stats.sum_session_costs([session.row for session in sessions])
    return [
        replace(session, cost=costs.get(session.row, Cost())) for session in sessions
    ]


def _add_children(
    main: SessionSummary, children: list[SessionSummary]
) -> SessionSummary:
    members = [main, *children]
    usage = sum((s.usage for s in members), Usage())
    cost = reduce(Cost.plus, (s.cost for s in members))
    ends = [s.ended_at for s in members if s.ended_at]
    return replace(
        main,
        usage=usage,
        cost=cost,
        subagents=len(children),
        ended_at=max(ends, default=None),
    )
