"""Which sessions have the outputs that the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable


class DueSession(NamedTuple):
    """A session that may be over, and has news since its outputs were written."""

    row: int
    agent: str
    session_id: str
    seen_us: int
    """When the newest entry, of it or a subagent, was read."""


class ExportLedger:
    """Questions and notes about outputs; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_due(self, formats: str, quiet_us: int) -> list[DueSession]:
        """Settled sessions that stopped, or were quiet since then, with news.

        Not those that ended before the store was made: nobody waits for them.
        """
        rows = self._db.execute(
            "SELECT m.id, m.agent, m.session_id, max(c.seen_us) AS seen FROM session m "
            "JOIN session c ON c.agent = m.agent AND c.session_id = m.session_id "
            "LEFT JOIN published p ON p.session = m.id "
            "WHERE m.source = 'main' AND m.folder <> x'' AND NOT m.is_dirty "
            "AND (m.stopped_us IS NOT NULL OR m.ended_us < ?) AND m.ended_us >= "
            "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'created_us') "
            "GROUP BY m.id HAVING p.session IS NULL OR seen > p.seen_us "
            "OR p.formats <> ? ORDER BY m.ended_us DESC",
            (quiet_us, formats),
        )
        return [DueSession(*row) for row in rows]

    def mark_exported(self, sessions: Iterable[DueSession], formats: str) -> None:
        """The outputs of these sessions stand, as they were when they were due."""
        self._db.executemany(
            "INSERT OR REPLACE INTO published (session, seen_us, formats) "
            "VALUES (?, ?, ?)",
            [(each.row, each.seen_us, formats) for each in sessions],
        )

    def get_utc_offset(self, session: int) -> int:
        """The zone that the session's transcripts are told in, in minutes."""
        row = self._db.execute(
            "SELECT utc_offset FROM transcript WHERE session = ? ORDER BY unit LIMIT 1",
            (session,),
        ).fetchone()
        return int(row[0]) if row else 0
