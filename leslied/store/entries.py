"""Records picked out of the whole store, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.store.placed import PLACED, SHOWN, unpack_placed

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Placed

PAGE = 100
"""So many records are in memory at once."""
ALL = -1
"""A page without an end, as SQLite writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records are wanted; what is None or empty is not asked about."""

    streams: tuple[int, ...] | None = None
    """The store's numbers of sessions and subagents."""
    unit: int | None = None
    source: str = ""
    type: str = ""
    role: str = ""
    tool: str = ""
    """The tool of a call; a result tells it only with its call, and is let through."""

    def condition(self) -> tuple[str, list[Any]]:
        """The tests as SQL, with their values."""
        tests = {
            "s.source = ?": self.source or None,
            "r.type = ?": self.type or None,
            "r.role = ?": self.role or None,
            "(r.tool_name = ? OR r.type = 'tool_result')": self.tool or None,
            "p.unit = ?": self.unit,
        }
        held = {test: value for test, value in tests.items() if value is not None}
        where = [SHOWN, *held]
        if self.streams is not None:
            where.append(f"p.session IN ({', '.join(map(str, self.streams))})")
        return " AND ".join(where), list(held.values())

    @property
    def order(self) -> str:
        """Where few streams are wanted, their own index is the quicker way."""
        return "p.id" if self.streams is None else "+p.id"


def load_page(
    db: sqlite3.Connection, wanted: Wanted, after: int, most: int
) -> list[tuple[int, Placed]]:
    """Records placed after this, with their streams; not numbered."""
    where, values = wanted.condition()
    query = PLACED.replace("SELECT ", "SELECT p.session, ", 1)
    rows = db.execute(
        f"{query} WHERE {where} AND {wanted.order} > ? ORDER BY {wanted.order} LIMIT ?",
        (*values, after, most),
    ).fetchall()
    return [(row[0], unpack_placed(row[1:], 0)) for row in rows]


def find_newest(db: sqlite3.Connection, wanted: Wanted) -> list[int]:
    """The placements of such records, the latest first; those without a time last."""
    where, values = wanted.condition()
    rows = db.execute(
        "SELECT p.id FROM placement p JOIN session s ON s.id = p.session "
        "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
        f"WHERE {where} ORDER BY r.created_us DESC, p.id DESC",
        values,
    ).fetchall()
    return [row[0] for row in rows]
