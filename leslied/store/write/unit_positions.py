"""Positions of a session's stored entries in its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied.model.record import make_record_id
from leslied.sessions.unit_index import UnitPosition

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.record import Record

_SELECT_POSITION = (
    "SELECT p.id, p.unit FROM record r JOIN placement p "
    "ON p.entry = r.entry AND p.session = ? WHERE r.is_current AND "
)
_LAST = " ORDER BY p.id DESC LIMIT 1"


class StoredUnitPositions(NamedTuple):
    """Implementation of `sessions.unit_index.StoredUnits` with queries."""

    db: sqlite3.Connection
    session: int

    def find_call(self, call_id: str) -> UnitPosition | None:
        """Return the position of the last call with this id, or None."""
        return self._find("r.type = 'tool_use' AND r.tool_call_id = ?", call_id)

    def find_parent(self, record: Record) -> UnitPosition | None:
        """Return the position of the entry that the record follows, or None."""
        entry_id = make_record_id(
            record.session.agent, record.parent_id, 0, record.scope
        )
        return self._find("r.entry_id = ?", entry_id)

    def _find(self, condition: str, value: str | bytes) -> UnitPosition | None:
        query = _SELECT_POSITION + condition + _LAST
        row = self.db.execute(query, (self.session, value)).fetchone()
        return UnitPosition(*row) if row else None
