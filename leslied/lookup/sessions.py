"""The sessions that a list shows."""

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
    """The sessions wanted, in their order; each one's tokens include its subagents'.

    Subagents, if they are listed, too, stand by their own time, else below their
    session.
    """
    check_agents(reader, selection.filters)
    # An old subagent may stand in a session that is not.
    is_mixed = with_subagents and selection.is_reversed
    families = reader.select_sessions(
        replace(selection, limit=None) if is_mixed else selection
    )
    everyone = reader.list_sessions(None if selection == ALL_SESSIONS else families)
    if with_costs or selection.order == "cost":
        everyone = add_costs(reader, everyone)
    grouped: dict[tuple[str, str], list[SessionSummary]] = {}
    for session in everyone:
        grouped.setdefault(session.key[:2], []).append(session)
    found = [
        each
        for family in families
        for each in _list_family(grouped[family[:2]], with_subagents=with_subagents)
    ]
    return _sort_sessions(found, selection)[: selection.limit]


def load_session_summary(
    reader: StoreReader, agent: str, session_id: str, *, with_costs: bool = False
) -> SessionSummary:
    """One session, with its subagents' tokens."""
    members = reader.list_sessions([SessionGroup(agent, session_id)])
    if with_costs:
        members = add_costs(reader, members)
    return _list_family(members, with_subagents=False)[0]


def _list_family(
    members: list[SessionSummary], *, with_subagents: bool
) -> list[SessionSummary]:
    below = [session for session in members if session.is_subagent]
    mains = [session for session in members if not session.is_subagent]
    # A subagent whose parent's log is gone still stands for the session.
    main = mains[0] if mains else _make_missing_main(min(below, key=attrgetter("row")))
    whole = _add_children(main, below) if below else main
    return [whole, *below] if with_subagents else [whole]


def _make_missing_main(subagent: SessionSummary) -> SessionSummary:
    key = SessionKey(*subagent.key[:2])
    return replace(subagent, key=key, usage=Usage(), cost=Cost(), tool_calls=0)


def _sort_sessions(
    sessions: list[SessionSummary], selection: Selection
) -> list[SessionSummary]:
    """In the order that only the whole sums, or the subagents' own times, tell."""
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
    """The sessions, each with what its own messages cost."""
    from leslied.prices import load_prices  # noqa: PLC0415 - most lists tell no cost
    from leslied.stats import UsageStats  # noqa: PLC0415

    found = list(sessions)
    if not found:
        return found
    ledger = UsageStats(reader.usage, load_prices())
    costs = ledger.sum_session_costs([session.row for session in found])
    return [replace(each, cost=costs.get(each.row, Cost())) for each in found]


def _add_children(
    main: SessionSummary, children: list[SessionSummary]
) -> SessionSummary:
    totals = [main, *children]
    usage = sum((s.usage for s in totals), Usage())
    cost = reduce(Cost.plus, (s.cost for s in totals))
    ends = [s.ended_at for s in totals if s.ended_at]
    return replace(
        main,
        usage=usage,
        cost=cost,
        subagents=len(children),
        ended_at=max(ends, default=None),
    )
