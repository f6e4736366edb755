"""Where the entries of one session are, to find rewinds (`sessions/rewinds.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from leslied.model.times import to_us
from leslied.sessions.rewinds import EntryPlace, FirstEntry
from leslied.sessions.unit_index import UnitPosition
from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record
    from leslied.sessions.unit_index import UnitIndex
    from leslied.store.write.session_rows import SessionRow

_FIRST_OF_UNIT = "SELECT min(id) FROM placement WHERE session = ? AND unit = ?"
_SELECT_UNIT_AFTER = (
    "SELECT max(p.unit) FROM record r "
    "JOIN placement p ON p.entry = r.entry AND p.session = ? "
    "WHERE r.parent_id = ? AND r.type = 'user_message' AND r.parent_id <> '' "
    "AND p.id = (SELECT min(q.id) FROM placement q "
    "WHERE q.session = p.session AND q.unit = p.unit)"
)
_SELECT_FIRST_ENTRY = (
    "SELECT r.content, r.created_us, r.metadata, r.parent_id FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 WHERE p.id = ?"
)
_SELECT_USER_MESSAGES = (
    "SELECT p.id, p.unit FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "WHERE p.session = ?1 AND p.unit IN (?2 - 1, ?2) AND r.type = 'user_message'"
)


class EntryPlaces:
    """Places of a session's entries: those added here, and those in the store."""

    def __init__(
        self, row: SessionRow, units: UnitIndex, db: sqlite3.Connection | None = None
    ) -> None:
        """Start with the entries in the store, or with none if `db` is None.

        The caller adds each record to `units`, too.
        """
        self._row = row
        self._units = units
        self._db = db
        self._user_messages: dict[int, tuple[UnitPosition, Record]] = {}
        """Added user messages, by placement."""
        self._first_entries: dict[int, FirstEntry] = {}
        """First entry of each added unit."""
        self._unit_starts: dict[int, int] = {}
        """First placement of each added unit."""
        self._units_after: dict[str, int] = {}
        """Each added unit, by the id of the entry that its first entry follows."""

    def add(self, record: Record, position: UnitPosition, unit_start: int) -> None:
        """Add a placed record.

        `unit_start` is the first placement of the unit that the record starts, or 0 if
        it starts none.
        """
        if record.type == "user_message":
            self._user_messages[position.placement] = (position, record)
        if unit_start:
            unit = self._row.units
            self._unit_starts[unit] = unit_start
            self._first_entries[unit], parent_id = self._load_first_entry(unit_start)
            self._units_after[parent_id] = unit

    def find_unit_after(self, parent_id: str) -> int:
        """Return a unit whose first entry follows the entry with this id, or 0."""
        unit = self._units_after.get(parent_id, 0)
        if unit or self._db is None:
            return unit
        values = (self._row.id, parent_id)
        return int(fetch_value(self._db, _SELECT_UNIT_AFTER, values) or 0)

    def find_place(self, native_id: str, scope: str) -> EntryPlace | None:
        """Return the place of the entry with this id, or None."""
        position = self._units.find_entry(native_id, scope)
        if position is None:
            return None
        unit = self._units.get_unit(position)
        return EntryPlace(unit, position.placement == self._find_unit_start(unit))

    def find_first_entry(self, unit: int) -> FirstEntry:
        """Return the first entry of a unit."""
        if unit in self._first_entries:
            return self._first_entries[unit]
        return self._load_first_entry(self._find_unit_start(unit))[0]

    def count_user_messages(self, unit: int) -> int:
        """Return the number of user messages in a unit."""
        positions = [position for position, _ in self._user_messages.values()]
        if self._db is not None:
            # A command stored in the preceding unit may now belong to this one.
            rows = self._db.execute(_SELECT_USER_MESSAGES, (self._row.id, unit))
            positions += [UnitPosition(*row) for row in rows]
        return sum(self._units.get_unit(position) == unit for position in positions)

    def _find_unit_start(self, unit: int) -> int:
        """Return the first placement of a unit, or 0."""
        start = self._unit_starts.get(unit, 0)
        if start or self._db is None:
            return start
        values = (self._row.id, unit)
        return int(fetch_value(self._db, _FIRST_OF_UNIT, values) or 0)

    def _load_first_entry(self, placement: int) -> tuple[FirstEntry, str]:
        """Return the message at a placement, and the id of the entry it follows."""
        if placement in self._user_messages:
            _, record = self._user_messages[placement]
            created_us = to_us(record.created_at) if record.created_at else None
            ordinal = record.metadata.get("ordinal")
            return FirstEntry(record.content, created_us, ordinal), record.parent_id
        if self._db is None:
            return FirstEntry(), ""
        row = self._db.execute(_SELECT_FIRST_ENTRY, (placement,)).fetchone()
        if row is None:
            return FirstEntry(), ""
        content, created_us, metadata, parent_id = row
        facts = msgspec.json.decode(metadata) if metadata else {}
        return FirstEntry(content, created_us, facts.get("ordinal")), parent_id
