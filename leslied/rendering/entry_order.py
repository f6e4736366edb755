"""The entries of a unit in reading order, and of a session in order of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.timed_entry import TimedEntry
from leslied.sessions.calls import pair_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

_MIN_TIME = datetime.min.replace(tzinfo=UTC)


class _OrderedEntry(NamedTuple):
    """An entry, and the time by which it is sorted.

    This time never decreases within a log.
    """

    at: datetime
    placed: PlacedRecord
    unit: Unit
    depth: int


def iter_in_reading_order(entries: Sequence[PlacedRecord]) -> Iterator[PlacedRecord]:
    """Yield every entry once; each result follows its call, even of parallel calls."""
    for placed, result in pair_results(entries):
        yield placed
        if result:
            yield result


def build_timeline(
    units: Sequence[Unit], is_included: Callable[[Record], bool] = lambda _: True
) -> tuple[TimedEntry, ...]:
    """Return the entries of the units and their subagents in order of time.

    Entries whose record is not included are left out. Entries of one log keep their
    order. The pause of an entry is the time since the last included entry that has a
    time. It is zero if the entry has no time, is the first that has one, or is earlier
    than that entry.
    """
    timeline: list[TimedEntry] = []
    last_at: datetime | None = None
    for entry in sorted(_walk_units(units), key=lambda entry: entry.at):
        if is_included(entry.placed.record):
            at = entry.placed.record.created_at
            pause = max(at - last_at, timedelta()) if at and last_at else timedelta()
            last_at = at or last_at
            timeline.append(
                TimedEntry(
                    pause=pause,
                    placed=entry.placed,
                    unit=entry.unit,
                    depth=entry.depth,
                )
            )
    return tuple(timeline)


def _walk_units(units: Sequence[Unit]) -> Iterator[_OrderedEntry]:
    """Yield the entries of all units and their subagents, with times to sort by."""
    at = _MIN_TIME
    for unit in units:
        for entry in _walk_unit(unit, at, 0):
            yield entry
            # The next unit starts after the last entry of the main log, but not after
            # those of subagents, which may still be running then.
            if entry.depth == 0:
                at = entry.at


def _walk_unit(unit: Unit, since: datetime, depth: int) -> Iterator[_OrderedEntry]:
    """Yield the entries of the unit, then those of its subagents.

    No entry gets a time before `since`, or before the call that spawned its subagent.
    """
    call_times: dict[str, datetime] = {}
    at = since
    for placed in unit.entries:
        # An event may have a time long after its position in the log.
        if placed.record.type != "system_event":
            at = max(at, placed.record.created_at or at)
        if placed.record.type == "tool_use":
            call_times[placed.record.tool_call_id] = at
        yield _OrderedEntry(at, placed, unit, depth)
    for child in unit.subagents:
        spawned_at = call_times.get(child.summary.spawn_call_id, since)
        yield from _walk_unit(child, spawned_at, depth + 1)
