"""Positions of a session's stored entries in its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from leslied.model.record import make_record_id
from leslied.sessions.unit_index import UnitPosition, is_session_fact
from leslied.store.sql import make_placeholders

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_FIRST_BLOCKS = (0,)
"""Block number of the first record of most entries. Record ids are hashes, so that the
lookup of each further number reads another page of the index."""
_OTHER_BLOCKS = (*range(1, 16), 900, 901)
"""Other block numbers that adapters give to the first record of an entry."""
_SELECT_CALL = (
    "SELECT p.id, p.unit FROM record r "
    "JOIN placement p ON p.entry = r.entry AND p.session = ? "
    "WHERE r.is_current AND r.type = 'tool_use' AND r.tool_call_id = ? "
    "ORDER BY p.id DESC LIMIT 1"
)
# CROSS JOIN keeps this order of the tables. Without statistics, SQLite would otherwise
# go through all placements of the session.
_SELECT_RECORDS_OF_ENTRY = (
    "SELECT p.id, p.unit, r.metadata FROM record r "
    "CROSS JOIN placement p ON p.entry = r.entry AND p.session = ? "
    "WHERE r.is_current AND r.entry_id IN ({}) ORDER BY p.id"
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
        return self._find_record(native_id, scope, _FIRST_BLOCKS) or self._find_record(
            native_id, scope, _OTHER_BLOCKS
        )

    def _find_record(
        self, native_id: str, scope: str, blocks: Sequence[int]
    ) -> UnitPosition | None:
        """Return the position of the first of these blocks of an entry, or None."""
        ids = [make_record_id(self.agent, native_id, n, scope) for n in blocks]
        query = _SELECT_RECORDS_OF_ENTRY.format(make_placeholders(ids))
        rows = self.db.execute(query, (self.session, *ids))
        positions = (
            UnitPosition(placement, unit)
            for placement, unit, metadata in rows
            if not metadata or not is_session_fact(msgspec.json.decode(metadata))
        )
        return next(positions, None)
