"""From a session to all that was said in it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.model.session import Session
from leslied.sessions import Stream, assemble, find_cost, tell_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from leslied.lookup.ids import Found
    from leslied.model.session import SessionSummary, Unit
    from leslied.store import StoreReader


def load_units(reader: StoreReader, found: Found) -> tuple[Unit, ...]:
    """The session's units with subagents in their places, or the part asked for."""
    main = found.session
    streams = [
        Stream(child, tuple(reader.list_records(child.row)))
        for child in reader.list_children(main)
    ]
    units = assemble(Stream(main, tuple(reader.list_records(main.row))), streams)
    units = tuple(reader.add_transcript_paths(unit) for unit in units)
    if found.entry:
        every = [each for unit in units for each in (unit, *_descendants(unit))]
        return tuple(filter(None, (_only_entry(unit, found.entry) for unit in every)))
    if found.unit is not None:
        return tuple(unit for unit in units if unit.number == found.unit)
    if found.subagent:
        below = [child for unit in units for child in _descendants(unit)]
        return tuple(u for u in below if u.summary.subagent_id == found.subagent)
    return units


def load_session(
    reader: StoreReader, found: Found, now: datetime, zone: tzinfo
) -> Session:
    """The session, or the part that was asked for, as outputs take it."""
    units = load_units(reader, found)
    return Session(
        summary=found.session,
        units=units,
        status=tell_status(found.session, now),
        cost_usd=_find_cost(found, units),
        zone=zone,
    )


def _find_cost(found: Found, units: tuple[Unit, ...]) -> float | None:
    """As lists tell it; where no price is known, as the log itself did."""
    if not found.is_whole:
        return None
    cost = found.session.cost
    return cost.usd if cost.priced else find_cost(units)


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


def _descendants(unit: Unit) -> Iterator[Unit]:
    for child in unit.subagents:
        yield child
        yield from _descendants(child)


def _only_entry(unit: Unit, entry_id: str) -> Unit | None:
    """The unit with nothing in it but the entry, with its call or its result."""
    wanted = [p.record for p in unit.entries if p.entry_id == entry_id]
    if not wanted:
        return None
    call = wanted[0].tool_call_id
    entries = tuple(
        placed
        for placed in unit.entries
        if placed.entry_id == entry_id or (call and placed.record.tool_call_id == call)
    )
    return replace(unit, entries=entries, subagents=())
