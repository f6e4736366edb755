"""Ledger of exports: which sessions are due, and which formats were written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from leslied.model.record import SessionKey
from leslied.store.sql import fetch_value
from leslied.store.streams import IS_STREAM, find_stream

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable


class DueSession(NamedTuple):
    """Session that is due for export."""

    key: SessionKey
    seen_us: int
    """Time at which the newest entry of the session or a subagent was read."""


class ExportLedger:
    """Read and write the state of exports; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_due(self, formats: str, stop_cutoff_us: int) -> list[DueSession]:
        """List settled sessions that are stopped or quiet and need a new export.

        A session needs one if it was never exported, has new entries, or if its last
        export had another value of `formats`. A session is quiet if it ended before
        `stop_cutoff_us`. Skip sessions that ended before the store was created; they
        are not exported automatically.
        """
        rows = self._db.execute(
            "SELECT m.agent, m.session_id, max(c.seen_us) AS seen FROM session m "
            "JOIN session c ON c.agent = m.agent AND c.session_id = m.session_id "
            "LEFT JOIN published p ON p.session = m.id "
            "WHERE m.source = 'main' AND m.folder <> x'' AND NOT m.is_dirty "
            "AND (m.stopped_us IS NOT NULL OR m.ended_us < ?) AND m.ended_us >= "
            "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'created_us') "
            "GROUP BY m.id HAVING p.session IS NULL OR seen > p.seen_us "
            "OR p.formats <> ? ORDER BY m.ended_us DESC",
            (stop_cutoff_us, formats),
        )
        return [
            DueSession(SessionKey(agent, session_id), seen_us)
            for agent, session_id, seen_us in rows
        ]

    def mark_exported(self, sessions: Iterable[DueSession], formats: str) -> None:
        """Record that these sessions were exported with the entries up to `seen_us`."""
        self._db.executemany(
            "INSERT OR REPLACE INTO published (session, seen_us, formats) "
            f"SELECT id, ?, ? FROM session WHERE {IS_STREAM}",
            [(due.seen_us, formats, *due.key) for due in sessions],
        )

    def get_utc_offset(self, session: SessionKey) -> int:
        """Return the UTC offset in minutes of the session's transcripts, or 0."""
        query = (
            "SELECT utc_offset FROM transcript WHERE session = ? AND unit >= 0 "
            "ORDER BY unit LIMIT 1"
        )
        stream = find_stream(self._db, session)
        return int(fetch_value(self._db, query, (stream,), default=0))
