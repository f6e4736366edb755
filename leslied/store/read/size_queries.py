"""Sizes in bytes of sessions, tables and the archive."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from leslied.store.connection import translate_sqlite_errors
from leslied.store.cursors import CURSOR_COLUMNS, unpack_cursor
from leslied.store.sql import fetch_value, list_columns

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.model.source import Cursor

    SessionName = tuple[str, str]
    """Agent and session id: a session with its subagents."""

_ROW_OVERHEAD_BYTES = 400
"""Estimated bytes of a record besides its texts, in its table and the indexes."""
_TEXT_LENGTH = "length(r.content) + length(r.tool_input) + length(r.spilled)"


class SessionSource(NamedTuple):
    """Source of a session's entries, with its cursor."""

    agent: str
    path: bytes
    cursor: Cursor


class SizeQueries:
    """Read-only queries over sizes."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def get_store_bytes_by_session(self) -> dict[SessionName, int]:
        """Return each session's share of the store, in proportion to its texts."""
        weights = {
            (agent, session_id): weight
            for agent, session_id, weight in self._db.execute(
                "SELECT s.agent, s.session_id, "
                f"sum({_TEXT_LENGTH} + {_ROW_OVERHEAD_BYTES}) "
                "FROM placement p JOIN record r ON r.entry = p.entry "
                "JOIN session s ON s.id = p.session GROUP BY s.agent, s.session_id"
            )
        }
        scale = self.get_used_bytes() / max(sum(weights.values()), 1)
        return {session: int(weight * scale) for session, weight in weights.items()}

    @translate_sqlite_errors
    def get_archive_bytes_by_session(self) -> dict[SessionName, int]:
        """Return the size of the archive files of each session's sources."""
        rows = self._db.execute(
            "SELECT agent, session_id, sum(size) FROM (SELECT DISTINCT s.agent, "
            "s.session_id, a.source, a.size FROM "
            "(SELECT DISTINCT source, session FROM placement) p "
            "JOIN archived a ON a.source = p.source AND a.size > 0 "
            "JOIN session s ON s.id = p.session) GROUP BY agent, session_id"
        )
        return {(agent, session_id): size for agent, session_id, size in rows}

    @translate_sqlite_errors
    def get_archive_bytes(self) -> int:
        """Return the size of all archive files."""
        query = "SELECT CAST(total(size) AS INTEGER) FROM archived WHERE size > 0"
        return int(fetch_value(self._db, query))

    @translate_sqlite_errors
    def get_archive_file_sizes(self) -> dict[str, int]:
        """Return the size of each archive file, by its path below the archive."""
        query = "SELECT file, size FROM archived WHERE size > 0 AND file <> ''"
        return dict(self._db.execute(query).fetchall())

    @translate_sqlite_errors
    def get_used_bytes(self) -> int:
        """Return the size of the store's pages that are in use."""
        pages, free_pages, page_bytes = (
            fetch_value(self._db, f"PRAGMA {pragma}")
            for pragma in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free_pages) * page_bytes)

    @translate_sqlite_errors
    def get_table_bytes(self) -> dict[str, int]:
        """Return the size of every table and index; {} if SQLite lacks `dbstat`."""
        query = "SELECT name, pgsize FROM dbstat WHERE aggregate = 1"
        try:
            return dict(self._db.execute(query).fetchall())
        except sqlite3.OperationalError:
            return {}

    @translate_sqlite_errors
    def list_sources(self, session: SessionName) -> list[SessionSource]:
        """List the sources of a session and its subagents."""
        rows = self._db.execute(
            f"SELECT agent, path, {list_columns(CURSOR_COLUMNS)} FROM source "
            "WHERE id IN "
            "(SELECT p.source FROM session s JOIN placement p ON p.session = s.id "
            "WHERE s.agent = ? AND s.session_id = ?)",
            session,
        )
        return [
            SessionSource(agent, path, unpack_cursor(cursor))
            for agent, path, *cursor in rows
        ]

    @translate_sqlite_errors
    def list_transcript_folders(self) -> list[bytes]:
        """List the project folders that contain transcripts, without duplicates."""
        query = "SELECT DISTINCT folder FROM session WHERE folder <> x''"
        return [folder for (folder,) in self._db.execute(query)]
