"""Ledger of the asset index: file changes of sessions and summaries of threads."""

from __future__ import annotations

import os
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from leslied.model.file_change import FileChange
from leslied.model.record import SessionKey
from leslied.model.times import from_us, to_us
from leslied.store.sql import (
    fetch_value,
    list_columns,
    make_insert,
    select_in_batches,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_COPIED_FIELDS = (
    "placement",
    "unit",
    "kind",
    "path",
    "tool",
    "call_id",
    "chat_id",
    "body",
)
"""Fields of a file change that are stored as they are, in columns of the same name."""
_CHANGE_COLUMNS = (*_COPIED_FIELDS, "at_us")
_get_copied_fields = attrgetter(*_COPIED_FIELDS)
_SELECT_CHANGES = (
    "SELECT s.agent, s.session_id, s.source, "
    f"{list_columns(_CHANGE_COLUMNS, table='t')} FROM touch t "
    "JOIN session s ON s.id = t.session"
)
_SAVE_CHANGE = make_insert(
    "touch", ("session", "nth", *_CHANGE_COLUMNS), "INSERT OR REPLACE"
)
_SELECT_WATCHED = (
    "SELECT c.session, c.stamp, s.thread_id, s.folder, s.cwd FROM collected c "
    "JOIN session s ON s.id = c.session WHERE NOT c.is_due AND s.folder <> x''"
)


class WatchedThread(Struct, frozen=True):
    """Thread whose asset files may have changed since it was last indexed."""

    session: int
    stamp: bytes
    """Fingerprint of the asset files when the thread was last indexed."""
    thread_id: str
    folder: str
    cwd: str


class IndexedThread(Struct, frozen=True, kw_only=True):
    """State of a thread when it was last indexed."""

    session: int
    """Row id of the thread's session."""
    status: str = ""
    stamp: bytes = b""
    """Fingerprint of all asset files; it changes if any of them changes."""
    fingerprints_json: str = ""
    """Stamps, hashes and titles of the asset files, as JSON."""
    summary_json: str = ""
    """The thread's item in the project's index, as JSON; empty if it has none."""


class AssetLedger:
    """Read and write indexed threads; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def list_due(self, limit: int) -> list[int]:
        """List the sessions that were settled since their thread was last indexed."""
        query = "SELECT session FROM collected WHERE is_due ORDER BY session LIMIT ?"
        return [session for (session,) in self._db.execute(query, (limit,))]

    def list_unfinished(self) -> list[tuple[int, str]]:
        """List (session, status) of sessions that were not stopped when indexed."""
        query = "SELECT session, status FROM collected WHERE status <> 'stopped'"
        return self._db.execute(query).fetchall()

    def list_watched(self, newest_limit: int, other_limit: int) -> list[WatchedThread]:
        """List threads to check for changes: the last active ones and some others.

        Every call continues with the next others, so that repeated calls check all
        threads. Threads that are due for indexing anyway are omitted.
        """
        rows = self._db.execute(
            f"{_SELECT_WATCHED} ORDER BY s.ended_us DESC LIMIT ?", (newest_limit,)
        )
        threads = [_unpack_watched(row) for row in rows]
        if len(threads) == newest_limit:
            threads += self._list_next_others(other_limit)
        return list({thread.session: thread for thread in threads}.values())

    def _list_next_others(self, limit: int) -> list[WatchedThread]:
        """Return the threads after the stored position, and advance the position."""
        query = "SELECT value FROM meta WHERE key = 'collect_at'"
        position = int(fetch_value(self._db, query, default=0))
        rows = self._db.execute(
            f"{_SELECT_WATCHED} AND c.session > ? ORDER BY c.session LIMIT ?",
            (position, limit),
        )
        threads = [_unpack_watched(row) for row in rows]
        next_position = threads[-1].session if len(threads) == limit else 0
        self._db.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('collect_at', ?)",
            (str(next_position),),
        )
        return threads

    def list_indexed(self, thread_ids: Iterable[str]) -> list[int]:
        """Return the row ids of the sessions of these threads, if they are indexed."""
        query = (
            "SELECT c.session FROM session s JOIN collected c ON c.session = s.id "
            "WHERE s.thread_id <> '' AND s.thread_id"
        )
        rows = select_in_batches(self._db, query, thread_ids)
        return [session for (session,) in rows]

    def load_thread(self, session: int) -> IndexedThread:
        """Load the state of a thread; return an empty one if it was never indexed."""
        row = self._db.execute(
            "SELECT status, stamp, files, summary FROM collected WHERE session = ?",
            (session,),
        ).fetchone()
        if row is None:
            return IndexedThread(session=session)
        status, stamp, fingerprints_json, summary_json = row
        return IndexedThread(
            session=session,
            status=status,
            stamp=stamp,
            fingerprints_json=fingerprints_json,
            summary_json=summary_json,
        )

    def save_thread(self, thread: IndexedThread) -> None:
        """Save the state of a thread."""
        t = thread
        self._db.execute(
            "INSERT INTO collected (session, status, stamp, files, summary) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET status = excluded.status,"
            " stamp = excluded.stamp, files = excluded.files, "
            "summary = excluded.summary",
            (t.session, t.status, t.stamp, t.fingerprints_json, t.summary_json),
        )

    def mark_due(self, sessions: Iterable[int], *, is_due: bool) -> None:
        """Mark these threads as due for indexing, or as indexed."""
        self._db.executemany(
            "UPDATE collected SET is_due = ? WHERE session = ?",
            [(int(is_due), session) for session in sessions],
        )

    def list_summaries(self, folder: bytes, limit: int) -> list[str]:
        """List the JSON summaries of a project's threads, last active first."""
        rows = self._db.execute(
            "SELECT c.summary FROM session s JOIN collected c ON c.session = s.id "
            "WHERE s.folder = ? AND s.folder <> x'' AND c.summary <> '' "
            "ORDER BY s.ended_us DESC, s.id DESC LIMIT ?",
            (folder, limit),
        )
        return [summary for (summary,) in rows]

    def count_summaries(self, folder: bytes) -> int:
        """Count the threads of a project that have a summary."""
        query = (
            "SELECT count(*) FROM session s JOIN collected c ON c.session = s.id "
            "WHERE s.folder = ? AND s.folder <> x'' AND c.summary <> ''"
        )
        return int(fetch_value(self._db, query, (folder,)))

    def list_unsearched_units(self, session: int) -> list[int]:
        """List units that have entries not yet searched for file changes."""
        rows = self._db.execute(
            "SELECT DISTINCT unit FROM placement WHERE session = ?1 AND id > "
            "ifnull((SELECT newest FROM touched WHERE session = ?1), 0) ORDER BY unit",
            (session,),
        )
        return [unit for (unit,) in rows]

    def find_cwd_before(self, session: int, unit: int) -> str:
        """Return the working directory when a unit began, or "" if unknown."""
        # A change of kind `folder` is a change of the working directory.
        query = (
            "SELECT path FROM touch WHERE session = ? AND kind = 'folder' "
            "AND unit < ? ORDER BY placement DESC LIMIT 1"
        )
        return str(fetch_value(self._db, query, (session, unit), default=""))

    def replace_file_changes(
        self, session: int, unit: int, changes: list[FileChange]
    ) -> None:
        """Replace the stored file changes of a unit by these."""
        self._db.execute(
            "DELETE FROM touch WHERE session = ? AND unit = ?", (session, unit)
        )
        self._db.executemany(
            _SAVE_CHANGE,
            [
                (session, nth, *_pack(structs.replace(change, unit=unit)))
                for nth, change in enumerate(changes)
            ],
        )

    def mark_searched(self, session: int) -> None:
        """Record that all entries of a stream were searched for file changes."""
        self._db.execute(
            "INSERT OR REPLACE INTO touched SELECT ?1, ifnull(max(id), 0) "
            "FROM placement WHERE session = ?1",
            (session,),
        )

    def list_file_changes(self, session: int) -> list[FileChange]:
        """List the file changes of a stream, in order."""
        query = f"{_SELECT_CHANGES} WHERE t.session = ? ORDER BY t.placement, t.nth"
        return [_unpack(row) for row in self._db.execute(query, (session,))]

    def list_file_changes_below(self, folder: str) -> list[FileChange]:
        """List the changes of all sessions to files below a folder, by time."""
        query = (
            f"{_SELECT_CHANGES} WHERE t.path >= ? AND t.path < ? "
            "AND t.kind <> 'folder' "
            "ORDER BY ifnull(t.at_us, 0), t.placement, t.nth"
        )
        # "0" is the character after "/", so the range is exactly the paths below the
        # folder.
        rows = self._db.execute(query, (folder + "/", folder + "0"))
        return [_unpack(row) for row in rows]

    def list_old_thread_ids(self, session: int) -> list[str]:
        """List the earlier ids of a thread that Leslie renamed."""
        query = "SELECT thread_id FROM thread_move WHERE session = ?"
        return [thread_id for (thread_id,) in self._db.execute(query, (session,))]

    def list_file_changes_at(self, path: str) -> list[FileChange]:
        """List the changes of all sessions to one file, by time."""
        query = (
            f"{_SELECT_CHANGES} WHERE t.path = ? AND t.kind <> 'folder' "
            "ORDER BY ifnull(t.at_us, 0), t.placement, t.nth"
        )
        return [_unpack(row) for row in self._db.execute(query, (path,))]


def _unpack_watched(row: Iterable[Any]) -> WatchedThread:
    """Return the thread of a row of _SELECT_WATCHED."""
    session, stamp, thread_id, folder, cwd = row
    return WatchedThread(session, stamp, thread_id, os.fsdecode(folder), cwd)


def _pack(change: FileChange) -> tuple[Any, ...]:
    """Return the values of _CHANGE_COLUMNS."""
    at_us = to_us(change.at) if change.at else None
    return (*_get_copied_fields(change), at_us)


def _unpack(row: Iterable[Any]) -> FileChange:
    """Return the file change of a row of _SELECT_CHANGES."""
    agent, session_id, source, *copied, at_us = row
    return FileChange(
        session=SessionKey(agent, session_id, source),
        at=from_us(at_us) if at_us is not None else None,
        **dict(zip(_COPIED_FIELDS, copied, strict=True)),
    )
