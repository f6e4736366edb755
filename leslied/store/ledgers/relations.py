"""Ledger of thread relations: due threads, parents of forks, and renamed threads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.record import MAIN, SessionKey
from leslied.store.read.ownership import Ownership
from leslied.store.sql import fetch_value, select_in_batches
from leslied.store.streams import IS_STREAM, find_stream

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable


class DueThread(NamedTuple):
    """Thread that may need an update in the relations file of its project."""

    key: SessionKey
    digest: bytes
    """Hash of what was last written about the thread; empty if it must be rewritten."""


class ThreadMove(NamedTuple):
    """Thread with a new id; files under the old id may still exist."""

    key: SessionKey
    old_id: str
    new_id: str
    folder: bytes
    written_files: list[str]
    """Files that leslied wrote under the old id, relative to the folder."""


class OldFolder(NamedTuple):
    """Thread whose files moved to another folder, and the folder that it left."""

    key: SessionKey
    thread_id: str
    folder: bytes


class RelationsLedger:
    """Read and write the state of relations; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_due(self) -> list[DueThread]:
        """List threads whose relations may have to be written again.

        Their files have changed, or their session had not stopped at the last write.
        """
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source, d.told FROM thread_due d "
            "JOIN session s ON s.id = d.session ORDER BY s.id"
        )
        return [DueThread(SessionKey(*key), digest) for *key, digest in rows]

    def mark_written(self, key: SessionKey, digest: bytes, *, is_stopped: bool) -> None:
        """Save the hash of what was written about a thread.

        If its session is stopped, remove it from the due threads instead.
        """
        session = find_stream(self._db, key)
        if is_stopped:
            query = "DELETE FROM thread_due WHERE session = ?"
            self._db.execute(query, (session,))
        else:
            query = "UPDATE thread_due SET told = ? WHERE session = ?"
            self._db.execute(query, (digest, session))

    def mark_due(self, keys: Iterable[SessionKey]) -> None:
        """Mark these threads as due, except threads without files."""
        self._db.executemany(
            "INSERT OR REPLACE INTO thread_due (session) "
            f"SELECT id FROM session WHERE {IS_STREAM} AND folder <> x''",
            keys,
        )

    def list_related_sessions(self, key: SessionKey) -> list[SessionKey]:
        """List the other main sessions that share entries with this one."""
        streams = self._count_shared_entries(find_stream(self._db, key))
        query = "SELECT agent, session_id, source FROM session WHERE id"
        rows = select_in_batches(self._db, query, streams)
        return [SessionKey(*row) for row in rows]

    def _count_shared_entries(self, session: int) -> dict[int, int]:
        """Return how many entries each other main session shares with this one."""
        rows = self._db.execute(
            "SELECT o.session, count(*) FROM placement p JOIN placement o "
            "ON o.entry = p.entry AND o.session <> p.session "
            "JOIN session s ON s.id = o.session AND s.source = ? "
            "WHERE p.session = ? GROUP BY o.session",
            (MAIN, session),
        )
        return dict(rows.fetchall())

    def find_parent_thread(self, key: SessionKey) -> tuple[str, bytes]:
        """Return the thread that this one was forked from, as (thread id, folder).

        The folder is the one that contains `.leslie`. Both are empty without a parent.
        """
        return self._get_thread(self._find_parent(find_stream(self._db, key)))

    def _find_parent(self, session: int) -> int:
        """Return the session that this one was forked from, or 0.

        Use the parent that the log names, else the older session that shares the most
        entries.
        """
        logged_parent = self._find_logged_parent(session)
        if logged_parent:
            return logged_parent
        shared_counts = self._count_shared_entries(session)
        ownership = Ownership(self._db)
        older_sessions = [
            other for other in shared_counts if _is_older(ownership, other, session)
        ]
        return max(
            older_sessions,
            key=lambda s: (shared_counts[s], ownership.get_first_unshared_us(s), s),
            default=0,
        )

    def _get_thread(self, session: int) -> tuple[str, bytes]:
        """Return the thread id of a session and the folder that contains `.leslie`."""
        query = "SELECT thread_id, folder FROM session WHERE id = ?"
        row = self._db.execute(query, (session,)).fetchone()
        thread_id, folder = row or ("", b"")
        return thread_id, folder

    def _find_logged_parent(self, session: int) -> int:
        """Return the parent that the log names, or 0.

        Agents whose forks do not share entry ids write the parent into the log.
        """
        query = (
            "SELECT o.id FROM placement p JOIN record r ON r.entry = p.entry "
            "JOIN session s ON s.id = p.session JOIN session o ON o.agent = s.agent "
            "AND o.source = ?1 AND o.id <> s.id "
            "AND o.session_id = json_extract(r.metadata, '$.forked_from') "
            "WHERE p.session = ?2 AND p.unit <= 1 AND r.type = 'system_event' "
            "AND r.metadata LIKE '%forked_from%' LIMIT 1"
        )
        return int(fetch_value(self._db, query, (MAIN, session), default=0))

    def list_relations_files(self) -> dict[bytes, str]:
        """Return the stamps of relations files that leslied wrote, by folder."""
        rows = self._db.execute("SELECT folder, stamp FROM relations_file")
        return dict(rows.fetchall())

    def record_relations_file(self, folder: bytes, stamp: str) -> None:
        """Save the stamp of a folder's relations file."""
        self._db.execute(
            "INSERT OR REPLACE INTO relations_file VALUES (?, ?)", (folder, stamp)
        )

    def find_claimed_threads(
        self, folder: bytes, claims: Iterable[tuple[str, str]]
    ) -> list[tuple[SessionKey, str, str]]:
        """Find threads of a folder that Leslie claims under another thread id.

        `claims` has (session id, thread id). Skip claims of a thread id that is in use,
        and threads that were moved before. Return (session, old thread id, new thread
        id).
        """
        renames: list[tuple[SessionKey, str, str]] = []
        for session_id, thread_id in claims:
            rows = self._db.execute(
                "SELECT agent, session_id, source, thread_id FROM session "
                "WHERE session_id = ?1 "
                "AND source = 'main' AND folder = ?3 AND thread_id <> ?2 "
                "AND NOT EXISTS (SELECT 1 FROM session WHERE thread_id = ?2) "
                "AND id NOT IN (SELECT session FROM thread_move)",
                (session_id, thread_id, folder),
            )
            renames += [(SessionKey(*key), old_id, thread_id) for *key, old_id in rows]
        return renames

    def list_transcript_files(
        self, key: SessionKey
    ) -> list[tuple[SessionKey, int, str]]:
        """List transcripts of a thread and its subagents, as (stream, unit, path)."""
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source, t.unit, t.file FROM transcript t "
            "JOIN session s ON s.id = t.session "
            "WHERE s.agent = ? AND s.session_id = ? ORDER BY t.file",
            (key.agent, key.session_id),
        )
        return [(SessionKey(*stream), unit, file) for *stream, unit, file in rows]

    def move_thread(
        self,
        key: SessionKey,
        thread_id: str,
        files: list[tuple[SessionKey, int, str, str]],
    ) -> None:
        """Change a thread's id and make its files due under new paths.

        `files` has (stream, unit, old path, new path). The old paths are stored until
        `mark_moved`.
        """
        session = find_stream(self._db, key)
        old_id, _ = self._get_thread(session)
        self._db.execute(
            "UPDATE session SET thread_id = ?, is_dirty = 1 WHERE id = ?",
            (thread_id, session),
        )
        self._db.executemany(
            "UPDATE transcript SET file = ?, digest = x'', "
            "newest = CASE WHEN is_removed THEN newest ELSE 0 END "
            "WHERE session = ? AND unit = ?",
            [
                (new_path, find_stream(self._db, stream), unit)
                for stream, unit, _, new_path in files
            ],
        )
        old_paths = json.dumps([old_path for _, _, old_path, _ in files])
        self._db.execute(
            "INSERT OR REPLACE INTO thread_move VALUES (?, ?, ?)",
            (session, old_id, old_paths),
        )

    def list_moves(self) -> list[ThreadMove]:
        """List threads whose files under the old id may still exist."""
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source, "
            "m.thread_id, s.thread_id, s.folder, m.files "
            "FROM thread_move m JOIN session s ON s.id = m.session "
            "WHERE m.files <> ''"
        )
        return [
            ThreadMove(SessionKey(*key), old_id, new_id, folder, json.loads(files))
            for *key, old_id, new_id, folder, files in rows
        ]

    def list_old_folders(self) -> list[OldFolder]:
        """List the threads whose files in an earlier folder may still exist."""
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source, s.thread_id, l.folder "
            "FROM left_folder l JOIN session s ON s.id = l.session"
        )
        return [
            OldFolder(SessionKey(*key), thread_id, folder)
            for *key, thread_id, folder in rows
        ]

    def mark_cleared(self, old: OldFolder) -> None:
        """Record that no file remains in the earlier folder.

        Mark one of the threads that remain there as due, to update the folder's index.
        """
        query = "DELETE FROM left_folder WHERE session = ?"
        self._db.execute(query, (find_stream(self._db, old.key),))
        self._db.execute(
            "UPDATE collected SET is_due = 1 WHERE session = "
            "(SELECT max(id) FROM session WHERE folder = ? AND source = 'main')",
            (old.folder,),
        )

    def mark_moved(self, key: SessionKey) -> None:
        """Record that no file remains under the thread's old id.

        The row stays, so that the thread is not moved again.
        """
        query = "UPDATE thread_move SET files = '' WHERE session = ?"
        self._db.execute(query, (find_stream(self._db, key),))


def _is_older(ownership: Ownership, candidate: int, session: int) -> bool:
    """Return whether the candidate is older than a session that shares entries.

    Of two sessions with the same entries, the one that was read first is older. A
    session that the other contains is older. Otherwise, the session whose first
    unshared entry is earlier is older.
    """
    if ownership.has_same_entries(candidate, session):
        return candidate < session
    if ownership.is_contained(candidate, session):
        return True
    if ownership.is_contained(session, candidate):
        return False
    candidate_start = (ownership.get_first_unshared_us(candidate), candidate)
    return candidate_start < (ownership.get_first_unshared_us(session), session)
