"""Records picked out of the whole store: first where they stand, then page by page."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.store.record_query import IS_SHOWN, SELECT_RECORDS, unpack_placed_record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from leslied.model.record import PlacedRecord

PAGE_SIZE = 100
"""So many records are in memory at once."""
_NO_LIMIT = -1
"""No limit, as SQLite writes it."""
_UNSET = (None, "")
_SELECT_PLACEMENTS = (
    "SELECT p.id FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Which records are wanted; what is None or empty is not asked about."""

    streams: tuple[int, ...] | None = None
    """The store's numbers of sessions and subagents."""
    unit: int | None = None
    entry: str = ""
    """The id of the only entry."""
    source: str = ""
    type: str = ""
    role: str = ""
    tool: str = ""
    """The tool of a call; a result tells it only with its call, and is let through."""

    def intersect(self, more: RecordFilter) -> RecordFilter:
        """What both ask for; nothing where they ask for different things."""
        streams = _intersect(self.streams, more.streams)
        values: dict[str, Any] = {}
        for name in ("unit", "entry", "source", "type", "role", "tool"):
            mine, other = getattr(self, name), getattr(more, name)
            values[name] = other if mine in _UNSET else mine
            if other not in (*_UNSET, values[name]):
                streams = ()
        return RecordFilter(streams=streams, **values)

    def to_sql(self) -> tuple[str, list[Any]]:
        """The tests as SQL, with their values."""
        tests = {
            "s.source = ?": self.source or None,
            "r.type = ?": self.type or None,
            "r.role = ?": self.role or None,
            "(r.tool_name = ? OR r.type = 'tool_result')": self.tool or None,
            "r.entry_id = ?": bytes.fromhex(self.entry) or None,
            "p.unit = ?": self.unit,
        }
        held = {test: value for test, value in tests.items() if value is not None}
        where = [IS_SHOWN, *held]
        if self.streams is not None:
            where.append(f"p.session IN ({', '.join(map(str, self.streams))})")
        return " AND ".join(where), list(held.values())

    @property
    def is_full_scan(self) -> bool:
        """Whether no index leads to what is wanted: the whole store is gone through."""
        return self.streams is None and not self.entry


def _intersect(
    one: tuple[int, ...] | None, other: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    others = set(other)
    return tuple(row for row in one if row in others)


def find_placements(
    db: sqlite3.Connection, record_filter: RecordFilter, after: int
) -> array[int]:
    """The placements of such records after this one, in order; empty at the end.

    A page of them where the whole store is gone through, which is in this order;
    else all: to sort those of a stream for every page would take ever longer.
    """
    where, values = record_filter.to_sql()
    order, most = (
        ("p.id", PAGE_SIZE) if record_filter.is_full_scan else ("+p.id", _NO_LIMIT)
    )
    rows = db.execute(
        f"{_SELECT_PLACEMENTS} WHERE {where} AND {order} > ? ORDER BY {order} LIMIT ?",
        (*values, after, most),
    )
    return array("q", (row[0] for row in rows))


def find_newest_placements(
    db: sqlite3.Connection, record_filter: RecordFilter
) -> array[int]:
    """The placements of such records, the latest first; those without a time last."""
    where, values = record_filter.to_sql()
    rows = db.execute(
        f"{_SELECT_PLACEMENTS} WHERE {where} ORDER BY r.created_us DESC, p.id DESC",
        values,
    )
    return array("q", (row[0] for row in rows))


def split_pages(placements: array[int]) -> Iterator[array[int]]:
    """The placements, as many at a time as are loaded at once."""
    for start in range(0, len(placements), PAGE_SIZE):
        yield placements[start : start + PAGE_SIZE]


def load_records(
    db: sqlite3.Connection, placements: array[int]
) -> Iterator[tuple[int, PlacedRecord]]:
    """The records at these placements, with their streams; not numbered.

    What is gone or hidden since they were found is left out.
    """
    query = SELECT_RECORDS.replace("SELECT ", "SELECT p.session, ", 1)
    marks = ", ".join("?" * len(placements))
    rows = db.execute(
        f"{query} WHERE p.id IN ({marks}) AND {IS_SHOWN}", placements
    ).fetchall()
    found = {row[1]: row for row in rows}
    for place in placements:
        if row := found.get(place):
            yield row[0], unpack_placed_record(row[1:], 0)
