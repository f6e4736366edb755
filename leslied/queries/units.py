"""Load a session's units, and format the command that resumes a session."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.model.omitted_text import omit_texts
from leslied.model.session import Session
from leslied.sessions.assemble import RecordStream, assemble
from leslied.sessions.cost import find_reported_cost
from leslied.sessions.status import compute_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from leslied.model.session import SessionSummary, Unit
    from leslied.queries.resolve import ResolvedId
    from leslied.store import StoreQueries


_MAX_LOADED_CHARACTERS = 1_000_000
"""Longest text that is loaded with its entry if texts are deferred."""


def load_units(
    reader: StoreQueries, resolved: ResolvedId, *, defers_texts: bool = False
) -> tuple[Unit, ...]:
    """Load the session's units with their subagents, or the part that the id names.

    With `defers_texts`, the caller loads the long texts of each unit:
    see `load_omitted_texts`.
    """
    main = resolved.session
    max_characters = _MAX_LOADED_CHARACTERS if defers_texts else sys.maxsize
    shorten = partial(omit_texts, load=reader.load_text, max_characters=max_characters)
    # Hidden subagents are shown only below a hidden session, or if the user asked for
    # a part of the session by its id.
    with_hidden = main.is_hidden or not resolved.is_whole_session
    # If the main log is missing, a subagent stands in for it. It is then the session
    # itself and not one of its subagents, unless the id names the subagent.
    shown_as_main = None if resolved.subagent else main.stand_in
    streams = [
        RecordStream(child, tuple(reader.list_records(child.key, transform=shorten)))
        for child in reader.list_children(main)
        if (with_hidden or not child.is_hidden) and child.key != shown_as_main
    ]
    entries = tuple(reader.list_records(main.stream, transform=shorten))
    units = assemble(RecordStream(main, entries), streams)
    units = tuple(reader.add_transcript_paths(unit) for unit in units)
    if resolved.entry:
        all_units: list[Unit] = []
        for unit in units:
            all_units += (unit, *_iter_descendants(unit))
        reduced_units = (_select_entry(unit, resolved.entry) for unit in all_units)
        return tuple(unit for unit in reduced_units if unit)
    if resolved.unit is not None:
        return tuple(unit for unit in units if unit.number == resolved.unit)
    if resolved.subagent:
        subagents = [child for unit in units for child in _iter_descendants(unit)]
        return tuple(
            unit for unit in subagents if unit.summary.subagent_id == resolved.subagent
        )
    return units


def load_session(
    reader: StoreQueries,
    resolved: ResolvedId,
    now: datetime,
    zone: tzinfo,
    *,
    defers_texts: bool = False,
) -> Session:
    """Load the session, or the part that the id names, for rendering."""
    units = load_units(reader, resolved, defers_texts=defers_texts)
    return Session(
        summary=resolved.session,
        units=units,
        status=compute_status(resolved.session, now),
        cost_usd=_find_cost(resolved, units),
        zone=zone,
    )


def _find_cost(resolved: ResolvedId, units: tuple[Unit, ...]) -> float | None:
    """Return the session's cost, or the cost in its log if no price is known.

    Return None for a part of a session.
    """
    if not resolved.is_whole_session:
        return None
    cost = resolved.session.cost
    return cost.usd if cost.priced else find_reported_cost(units)


def format_resume_command(session: SessionSummary) -> str:
    """Return the shell command that resumes the session, or "" if there is none."""
    from leslied.agents import load_adapters  # noqa: PLC0415 - rarely needed

    adapter = load_adapters().get(session.key.agent)
    if adapter is None or session.is_subagent:
        return ""
    command = adapter.resume_command(session.key.session_id)
    if not command or not session.cwd:
        return command
    return f"cd {shlex.quote(session.cwd)} && {command}"


def _iter_descendants(unit: Unit) -> Iterator[Unit]:
    """Yield the subagents of a unit, at any depth."""
    for child in unit.subagents:
        yield child
        yield from _iter_descendants(child)


def _select_entry(unit: Unit, entry_id: str) -> Unit | None:
    """Return the unit reduced to the entry and its tool call or result, or None."""
    records = [p.record for p in unit.entries if p.entry_id == entry_id]
    if not records:
        return None
    call_id = records[0].tool_call_id
    entries = tuple(
        placed
        for placed in unit.entries
        if placed.entry_id == entry_id
        or (call_id and placed.record.tool_call_id == call_id)
    )
    return replace(unit, entries=entries, subagents=())
