"""In which order, and after which pauses, the entries of a session came. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.timed_entry import TimedEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

_MIN_TIME = datetime.min.replace(tzinfo=UTC)


class _OrderedEntry(NamedTuple):
    """An entry, and a time that never runs back in its log."""

    at: datetime
    placed: PlacedRecord
    unit: Unit
    depth: int


def build_timeline(
    units: Sequence[Unit], is_shown: Callable[[Record], bool] = lambda _: True
) -> tuple[TimedEntry, ...]:
    """The entries that are told, subagents' among the others as they came.

    The lines of one log keep their order: a time that runs back, or that is missing,
    costs no pause. A pause goes from one told entry to the next.
    """
    beats: list[TimedEntry] = []
    last: datetime | None = None
    for moment in sorted(_walk_units(units), key=lambda moment: moment.at):
        if is_shown(moment.placed.record):
            at = moment.placed.record.created_at
            pause = max(at - last, timedelta()) if at and last else timedelta()
            last = at or last
            beats.append(
                TimedEntry(
                    pause=pause,
                    placed=moment.placed,
                    unit=moment.unit,
                    depth=moment.depth,
                )
            )
    return tuple(beats)


def _walk_units(units: Sequence[Unit]) -> Iterator[_OrderedEntry]:
    at = _MIN_TIME
    for unit in units:
        for moment in _walk_unit(unit, at, 0):
            yield moment
            at = moment.at if moment.depth == 0 else at


def _walk_unit(unit: Unit, since: datetime, depth: int) -> Iterator[_OrderedEntry]:
    """The unit's entries, then those of its subagents, none before its call."""
    called: dict[str, datetime] = {}
    at = since
    for placed in unit.entries:
        # Events are noted when they are known, which may be long after.
        if placed.record.type != "system_event":
            at = max(at, placed.record.created_at or at)
        if placed.record.type == "tool_use":
            called[placed.record.tool_call_id] = at
        yield _OrderedEntry(at, placed, unit, depth)
    for child in unit.subagents:
        begin = called.get(child.summary.spawn_call_id, since)
        yield from _walk_unit(child, begin, depth + 1)
