"""Records picked out of the whole store: first where they stand, then page by page."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.store.placed import PLACED, SHOWN, unpack_placed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from leslied.model.record import PlacedRecord

PAGE = 100
"""So many records are in memory at once."""
_ALL = -1
"""No limit, as SQLite writes it."""
_UNASKED = (None, "")
_PLACES = (
    "SELECT p.id FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
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

    def narrow(self, more: Wanted) -> Wanted:
        """What both ask for; nothing where they ask for different things."""
        streams = _meet(self.streams, more.streams)
        values: dict[str, Any] = {}
        for name in ("unit", "entry", "source", "type", "role", "tool"):
            mine, other = getattr(self, name), getattr(more, name)
            values[name] = other if mine in _UNASKED else mine
            if other not in (*_UNASKED, values[name]):
                streams = ()
        return Wanted(streams=streams, **values)

    def condition(self) -> tuple[str, list[Any]]:
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
        where = [SHOWN, *held]
        if self.streams is not None:
            where.append(f"p.session IN ({', '.join(map(str, self.streams))})")
        return " AND ".join(where), list(held.values())

    @property
    def is_anywhere(self) -> bool:
        """Whether no index leads to what is wanted: the whole store is gone through."""
        return self.streams is None and not self.entry


def _meet(
    one: tuple[int, ...] | None, other: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    others = set(other)
    return tuple(row for row in one if row in others)


def find_places(db: sqlite3.Connection, wanted: Wanted, after: int) -> array[int]:
    """The placements of such records after this one, in order; empty at the end.

    A page of them where the whole store is gone through, which is in this order;
    else all: to sort those of a stream for every page would take ever longer.
    """
    where, values = wanted.condition()
    order, most = ("p.id", PAGE) if wanted.is_anywhere else ("+p.id", _ALL)
    rows = db.execute(
        f"{_PLACES} WHERE {where} AND {order} > ? ORDER BY {order} LIMIT ?",
        (*values, after, most),
    )
    return array("q", (row[0] for row in rows))


def find_newest(db: sqlite3.Connection, wanted: Wanted) -> array[int]:
    """The placements of such records, the latest first; those without a time last."""
    where, values = wanted.condition()
    rows = db.execute(
        f"{_PLACES} WHERE {where} ORDER BY r.created_us DESC, p.id DESC", values
    )
    return array("q", (row[0] for row in rows))


def cut(places: array[int]) -> Iterator[array[int]]:
    """The placements, as many at a time as are loaded at once."""
    for start in range(0, len(places), PAGE):
        yield places[start : start + PAGE]


def load_places(
    db: sqlite3.Connection, places: array[int]
) -> Iterator[tuple[int, PlacedRecord]]:
    """The records at these placements, with their streams; not numbered.

    What is gone or hidden since they were found is left out.
    """
    query = PLACED.replace("SELECT ", "SELECT p.session, ", 1)
    marks = ", ".join("?" * len(places))
    rows = db.execute(f"{query} WHERE p.id IN ({marks}) AND {SHOWN}", places).fetchall()
    found = {row[1]: row for row in rows}
    for place in places:
        if row := found.get(place):
            yield row[0], unpack_placed(row[1:], 0)
