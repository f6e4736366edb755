"""Find records in the whole store: first their placements, then pages of records."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.store.read.record_query import (
    IS_VISIBLE,
    SELECT_RECORDS,
    unpack_placed_record,
)
from leslied.store.streams import list_streams

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from leslied.model.record import PlacedRecord, SessionKey

PAGE_SIZE = 100
"""Number of records that are in memory at once."""
_NO_LIMIT = -1
"""SQLite's value of LIMIT for no limit."""
_UNSET = (None, "")
_SELECT_PLACEMENTS = (
    "SELECT p.id FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Conditions on records; None or an empty text means no condition."""

    streams: tuple[SessionKey, ...] | None = None
    """Sessions and subagents."""
    unit: int | None = None
    entry: str = ""
    """Id of a single entry."""
    source: str = ""
    """`main` or `subagent:<id>`, as in a record; not a source file."""
    type: str = ""
    role: str = ""
    tool: str = ""
    """Tool of a call. All results match, because only a call names its tool."""

    def intersect(self, other: RecordFilter) -> RecordFilter:
        """Combine two filters with AND; a contradiction matches no stream."""
        streams = _intersect_streams(self.streams, other.streams)
        values: dict[str, Any] = {}
        for name in ("unit", "entry", "source", "type", "role", "tool"):
            left, right = getattr(self, name), getattr(other, name)
            values[name] = right if left in _UNSET else left
            if right not in (*_UNSET, values[name]):
                streams = ()
        return RecordFilter(streams=streams, **values)

    def to_sql(self, db: sqlite3.Connection) -> tuple[str, list[Any]]:
        """Return the conditions as SQL, and their values."""
        conditions = {
            "s.source = ?": self.source or None,
            "r.type = ?": self.type or None,
            "r.role = ?": self.role or None,
            "(r.tool_name = ? OR r.type = 'tool_result')": self.tool or None,
            "r.entry_id = ?": bytes.fromhex(self.entry) or None,
            "p.unit = ?": self.unit,
        }
        used_conditions = {
            sql: value for sql, value in conditions.items() if value is not None
        }
        where = [IS_VISIBLE, *used_conditions]
        if self.streams is not None:
            ids = ", ".join(map(str, list_streams(db, self.streams)))
            where.append(f"p.session IN ({ids})")
        return " AND ".join(where), list(used_conditions.values())

    @property
    def is_full_scan(self) -> bool:
        """Whether no index helps and the whole store must be scanned."""
        return self.streams is None and not self.entry


def _intersect_streams(
    left: tuple[SessionKey, ...] | None, right: tuple[SessionKey, ...] | None
) -> tuple[SessionKey, ...] | None:
    """Return the streams in both; None stands for all streams."""
    if left is None:
        return right
    if right is None:
        return left
    right_set = set(right)
    return tuple(stream for stream in left if stream in right_set)


def find_placements(
    db: sqlite3.Connection, record_filter: RecordFilter, after: int
) -> array[int]:
    """Return placements of matching records after a placement, in order.

    A full scan returns one page per call and nothing at the end. Other filters return
    all placements at once: sorting a stream again for every page would be quadratic.
    """
    where, values = record_filter.to_sql(db)
    # With `+p.id`, SQLite does not scan by placement but uses the filter's index.
    order, limit = (
        ("p.id", PAGE_SIZE) if record_filter.is_full_scan else ("+p.id", _NO_LIMIT)
    )
    rows = db.execute(
        f"{_SELECT_PLACEMENTS} WHERE {where} AND {order} > ? ORDER BY {order} LIMIT ?",
        (*values, after, limit),
    )
    return array("q", (placement for (placement,) in rows))


def find_newest_placements(
    db: sqlite3.Connection, record_filter: RecordFilter
) -> array[int]:
    """Return placements of matching records, latest first; those without time last."""
    where, values = record_filter.to_sql(db)
    rows = db.execute(
        f"{_SELECT_PLACEMENTS} WHERE {where} ORDER BY r.created_us DESC, p.id DESC",
        values,
    )
    return array("q", (placement for (placement,) in rows))


def split_pages(placements: array[int]) -> Iterator[array[int]]:
    """Split placements into pages of PAGE_SIZE."""
    for start in range(0, len(placements), PAGE_SIZE):
        yield placements[start : start + PAGE_SIZE]


def load_records(
    db: sqlite3.Connection, placements: array[int]
) -> Iterator[tuple[int, PlacedRecord]]:
    """Yield (stream, record) for these placements.

    The records have no sequence number. Skip placements that were deleted or hidden in
    the meantime.
    """
    query = SELECT_RECORDS.replace("SELECT ", "SELECT p.session, ", 1)
    placeholders = ", ".join("?" * len(placements))
    rows = db.execute(
        f"{query} WHERE p.id IN ({placeholders}) AND {IS_VISIBLE}", placements
    )
    records_by_placement = {
        placed.read_order: (session, placed)
        for session, placed in (
            (session, unpack_placed_record(columns, 0)) for session, *columns in rows
        )
    }
    for placement in placements:
        if placement in records_by_placement:
            yield records_by_placement[placement]
