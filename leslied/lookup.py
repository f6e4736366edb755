"""Looking: from an id or a list on the command line to sessions and units.

The counterpart of `pipeline`: it joins the store and the sessions room, and only reads.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.model.record import SessionKey, Usage
from leslied.model.session import Session
from leslied.model.stats import Cost
from leslied.redact import deep
from leslied.sessions import Stream, assemble, find_cost, tell_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from leslied.model.session import SessionSummary, Unit
    from leslied.store import Reader

redact_unit = deep.redact_unit
redact_placed = deep.redact_placed


@dataclass(frozen=True, slots=True)
class Found:
    """What an id on the command line stands for: a session, perhaps one part of it."""

    session: SessionSummary
    unit: int | None = None
    subagent: str = ""


def gather_sessions(
    reader: Reader, *, with_subagents: bool = False, with_costs: bool = False
) -> list[SessionSummary]:
    """The sessions, last active first; each one's tokens include its subagents'."""
    everyone = reader.sessions(_find_costs(reader) if with_costs else None)
    mains = {s.key[:2]: s for s in everyone if not s.is_subagent}
    children: dict[tuple[str, str], list[SessionSummary]] = {}
    for session in everyone:
        if session.is_subagent:
            children.setdefault(session.key[:2], []).append(session)
    for key, group in children.items():
        # A subagent whose parent's log is gone still stands for the session.
        main = mains.get(key) or replace(
            group[-1],
            key=SessionKey(*key),
            usage=Usage(),
            cost=Cost(),
            tool_calls=0,
        )
        mains[key] = _with_children(main, group)
    listed = [s for s in everyone if s.is_subagent] if with_subagents else []
    found = [*mains.values(), *listed]
    return sorted(found, key=lambda session: session.recency, reverse=True)


def resolve(reader: Reader, wanted: str, *, with_costs: bool = False) -> Found:
    """What the id, or its beginning, names; a sentence where it names no one thing."""
    sessions = gather_sessions(reader, with_subagents=True, with_costs=with_costs)
    mains = [s for s in sessions if not s.is_subagent]
    if wanted == "last" and mains:
        return Found(mains[0])
    exact = [s for s in mains if wanted in (s.key.session_id, s.thread_id)]
    if len(exact) == 1:
        return Found(exact[0])
    found = [Found(s) for s in mains if _is_named(s, wanted)]
    found += [
        Found(main, subagent=s.subagent_id)
        for s in sessions
        if s.is_subagent and s.subagent_id.startswith(wanted.removeprefix("subagent:"))
        for main in mains
        if main.key[:2] == s.key[:2]
    ]
    if not found and "chat-".startswith(wanted[:5]):
        rows = {s.row: s for s in mains}
        chats = reader.find_chat(wanted)
        found = [Found(rows[row], unit) for row, unit, _ in chats if row in rows]
    return _only(found, wanted)


def load_units(reader: Reader, found: Found) -> tuple[Unit, ...]:
    """The session's units with subagents in their places, or the one asked for."""
    main = found.session
    streams = [
        Stream(child, tuple(reader.records(child.row)))
        for child in reader.children(main)
    ]
    units = assemble(Stream(main, tuple(reader.records(main.row))), streams)
    units = tuple(reader.locate(unit) for unit in units)
    if found.unit is not None:
        return tuple(unit for unit in units if unit.number == found.unit)
    if found.subagent:
        every = [child for unit in units for child in _descendants(unit)]
        return tuple(u for u in every if u.summary.subagent_id == found.subagent)
    return units


def load_session(reader: Reader, found: Found, now: datetime, zone: tzinfo) -> Session:
    """The session, or the part that was asked for, as outputs take it."""
    units = load_units(reader, found)
    whole = found.unit is None and not found.subagent
    return Session(
        summary=found.session,
        units=units,
        status=tell_status(found.session, now),
        cost_usd=find_cost(units) if whole else None,
        zone=zone,
    )


def _find_costs(reader: Reader) -> dict[int, Cost]:
    from leslied.prices import load_prices  # noqa: PLC0415 - most lists tell no cost
    from leslied.stats import Ledger  # noqa: PLC0415

    return Ledger(reader.measures, load_prices()).session_costs()


def _descendants(unit: Unit) -> Iterator[Unit]:
    for child in unit.subagents:
        yield child
        yield from _descendants(child)


def _is_named(session: SessionSummary, wanted: str) -> bool:
    names = (session.key.session_id, session.thread_id)
    return any(name.startswith(wanted) for name in names if name)


def _only(found: list[Found], wanted: str) -> Found:
    if not wanted or not found:
        raise UserError(
            f"No session, unit or subagent has an id that starts with {wanted!r}.",
            "See the ids: leslied list",
        )
    if len(found) > 1:
        ids = ", ".join(
            each.subagent or each.session.key.session_id for each in found[:5]
        )
        raise UserError(
            f"{wanted!r} is the beginning of {len(found)} ids: {ids}"
            + (", …" if len(found) > 5 else "."),
            "Type more of the id.",
        )
    return found[0]


def _with_children(
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


def tell_resume(session: SessionSummary) -> str:
    """What to type to go on with it; empty for a subagent, and where that cannot be."""
    from leslied.agents import load_adapters  # noqa: PLC0415 - few commands need them

    adapter = load_adapters().get(session.key.agent)
    if adapter is None or session.is_subagent:
        return ""
    command = adapter.resume_command(session.key.session_id)
    if not command or not session.cwd:
        return command
    return f"cd {shlex.quote(session.cwd)} && {command}"
