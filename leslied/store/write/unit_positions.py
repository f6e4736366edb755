"""Positions of a session's stored entries in its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from leslied.model.record import make_record_id
from leslied.sessions.unit_index import UnitPosition, is_session_fact

if TYPE_CHECKING:
    import sqlite3

_BLOCKS = (*range(16), 900, 901)
"""Numbers that adapters give to the first record of an entry."""
_SELECT_CALL = (
    "SELECT p.id, p.unit FROM record r "
    "JOIN placement p ON p.entry = r.entry AND p.session = ? "
    "WHERE r.is_current AND r.type = 'tool_use' AND r.tool_call_id = ? "
    "ORDER BY p.id DESC LIMIT 1"
)
_SELECT_RECORDS_OF_ENTRY = (
    "SELECT p.id, p.unit, r.metadata FROM record r "
    "JOIN placement p ON p.entry = r.entry AND p.session = ? "
    f"WHERE r.is_current AND r.entry_id IN ({', '.join('?' for _ in _BLOCKS)}) "
    "ORDER BY p.id"
)


class StoredUnitPositions(NamedTuple):
    """Implementation of `sessions.unit_index.StoredUnits` with queries."""

    db: sqlite3.Connection
    agent: str
    session: int

    def find_call(self, call_id: str) -> UnitPosition | None:
        """Return the position of the last call with this id, or None."""
        row = self.db.execute(_SELECT_CALL, (self.session, call_id)).fetchone()
        return UnitPosition(*row) if row else None

    def find_entry(self, native_id: str, scope: str) -> UnitPosition | None:
        """Return the position of the entry with this id, or None."""
        ids = [make_record_id(self.agent, native_id, n, scope) for n in _BLOCKS]
        rows = self.db.execute(_SELECT_RECORDS_OF_ENTRY, (self.session, *ids))
        positions = (
            UnitPosition(placement, unit)
            for placement, unit, metadata in rows
            if not metadata or not is_session_fact(msgspec.json.decode(metadata))
        )
        return next(positions, None)
