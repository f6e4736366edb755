"""Where the entries of one session are, for the rule of `sessions/rewinds.py`."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from leslied.model.record import make_record_id
from leslied.model.times import to_us
from leslied.sessions.rewinds import EntryPlace, FirstEntry
from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record
    from leslied.store.write.session_rows import SessionRow

_FIRST_OF_UNIT = (
    "(SELECT min(q.id) FROM placement q "
    "WHERE q.session = p.session AND q.unit = p.unit)"
)
_SELECT_UNIT_AFTER = (
    "SELECT max(p.unit) FROM record r "
    "JOIN placement p ON p.entry = r.entry AND p.session = ? "
    "WHERE r.parent_id = ? AND r.type = 'user_message' AND r.parent_id <> '' "
    f"AND p.id = {_FIRST_OF_UNIT}"
)
_SELECT_PLACE = (
    f"SELECT p.id, p.unit, p.id = {_FIRST_OF_UNIT} FROM record r "
    "JOIN placement p ON p.entry = r.entry AND p.session = ? WHERE r.entry_id = ?"
)


_SELECT_FIRST_ENTRY = (
    "SELECT r.content, r.created_us, r.metadata FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "WHERE p.session = ? AND p.unit = ? ORDER BY p.id LIMIT 1"
)
_COUNT_USER_MESSAGES = (
    "SELECT count(*) FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "WHERE p.session = ? AND p.unit = ? AND r.type = 'user_message'"
)


class EntryPlaces:
    """Places of a session's entries: those added here, and those in the store."""

    def __init__(self, row: SessionRow, db: sqlite3.Connection | None = None) -> None:
        """Start with the entries in the store, or with none if `db` is None."""
        self._row = row
        self._db = db
        self._units_before = row.units
        self._placements: dict[str, int] = {}
        """Placement of each added entry, by native id."""
        self._user_messages: dict[int, Record] = {}
        """Added user messages, by placement."""
        self._first_entries: dict[int, FirstEntry] = {}
        """First entry of each added unit."""
        self._unit_starts: list[int] = []
        """First placements of added units; the newest unit is the last one."""
        self._units_after: dict[str, int] = {}

    def add(self, record: Record, placement: int, unit_start: int) -> None:
        """Add a placed record; `unit_start` is what `add_record` returned for it."""
        if record.native_id:
            self._placements[record.native_id] = placement
        if record.type == "user_message":
            self._user_messages[placement] = record
        if unit_start:
            self._unit_starts.append(unit_start)
            if first := self._user_messages.get(unit_start):
                self._units_after[first.parent_id] = self._row.units
                created_us = to_us(first.created_at) if first.created_at else None
                self._first_entries[self._row.units] = FirstEntry(
                    first.content, created_us, first.metadata.get("ordinal")
                )

    def find_unit_after(self, parent_id: str) -> int:
        """Return a unit whose first entry follows the one with this id, or 0."""
        unit = self._units_after.get(parent_id, 0)
        if unit or self._db is None:
            return unit
        values = (self._row.id, parent_id)
        return int(fetch_value(self._db, _SELECT_UNIT_AFTER, values) or 0)

    def find_place(self, native_id: str, scope: str) -> EntryPlace | None:
        """Return the place of the entry with this id, or None."""
        placement = self._placements.get(native_id)
        if placement is not None:
            return self._make_place(placement, self._units_before, 0)
        if self._db is None:
            return None
        entry_id = make_record_id(self._row.agent, native_id, 0, scope)
        row = self._db.execute(_SELECT_PLACE, (self._row.id, entry_id)).fetchone()
        if row is None:
            return None
        return self._make_place(*row)

    def find_first_entry(self, unit: int) -> FirstEntry:
        """Return the first entry of a unit."""
        if unit in self._first_entries or self._db is None:
            return self._first_entries.get(unit, FirstEntry())
        values = (self._row.id, unit)
        row = self._db.execute(_SELECT_FIRST_ENTRY, values).fetchone()
        if row is None:
            return FirstEntry()
        content, created_us, metadata = row
        facts = msgspec.json.decode(metadata) if metadata else {}
        return FirstEntry(content, created_us, facts.get("ordinal"))

    def count_user_messages(self, unit: int) -> int:
        """Return the number of user messages in a unit."""
        added = sum(
            self._make_place(placement, self._units_before, 0).unit == unit
            for placement in self._user_messages
        )
        if self._db is None:
            return added
        values = (self._row.id, unit)
        return added + int(fetch_value(self._db, _COUNT_USER_MESSAGES, values))

    def _make_place(self, placement: int, unit: int, starts_unit: int) -> EntryPlace:
        """Return the place; the last two are those of an entry before added units."""
        added = bisect_right(self._unit_starts, placement)
        if not added:
            return EntryPlace(unit, bool(starts_unit))
        is_start = self._unit_starts[added - 1] == placement
        return EntryPlace(self._units_before + added, is_start)
