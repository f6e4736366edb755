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
    fetch_column,
    fetch_value,
    list_columns,
    make_insert,
    select_in_batches,
)
from leslied.store.streams import (
    ALL_UNITS,
    UNIT_ENDS,
    find_stream,
    list_streams,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

_COPIED_FIELDS = (
    "unit",
    "kind",
    "path",
    "tool",
    "call_id",
    "chat_id",
    "body",
)
"""Fields of a file change that are stored unchanged, in columns of the same name."""
_CHANGE_COLUMNS = (*_COPIED_FIELDS, "placement", "at_us")
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
    "SELECT s.id, s.agent, s.session_id, s.source, "
    "c.stamp, s.thread_id, s.folder, s.cwd FROM collected c "
    "JOIN session s ON s.id = c.session WHERE NOT c.is_due AND s.folder <> x''"
)

_MAX_NEW_PLACEMENTS = 1000
"""If the store has at most this many new placements, reading them is faster than
finding the last placement of every unit of a session."""


class WatchedThread(Struct, frozen=True):
    """Thread whose asset files may have changed since it was last indexed."""

    session: SessionKey
    stamp: bytes
    """Fingerprint of the asset files when the thread was last indexed."""
    thread_id: str
    folder: str
    cwd: str


class IndexedThread(Struct, frozen=True, kw_only=True):
    """State of a thread when it was last indexed."""

    session: SessionKey
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

    def list_due(self, limit: int) -> list[SessionKey]:
        """List the sessions that were settled since their thread was last indexed."""
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source FROM collected c "
            "JOIN session s ON s.id = c.session WHERE c.is_due "
            "ORDER BY c.session LIMIT ?",
            (limit,),
        )
        return [SessionKey(*key) for key in rows]

    def list_unfinished(self) -> list[tuple[SessionKey, str]]:
        """List (session, status) of sessions that were not stopped when indexed.

        Sessions that are due for indexing anyway are omitted.
        """
        rows = self._db.execute(
            "SELECT s.agent, s.session_id, s.source, c.status FROM collected c "
            "JOIN session s ON s.id = c.session "
            "WHERE c.status <> 'stopped' AND NOT c.is_due"
        )
        return [(SessionKey(*key), status) for *key, status in rows]

    def list_watched(self, newest_limit: int, other_limit: int) -> list[WatchedThread]:
        """List threads to check for changes: the last active ones and some others.

        Each call continues with the next of the others, so that repeated calls list all
        threads. Threads that are due for indexing anyway are omitted.
        """
        rows = self._db.execute(
            f"{_SELECT_WATCHED} ORDER BY s.ended_us DESC LIMIT ?", (newest_limit,)
        )
        threads = {stream: _unpack_watched(values) for stream, *values in rows}
        if len(threads) == newest_limit:
            threads |= self._load_next_threads(other_limit)
        return list(threads.values())

    def _load_next_threads(self, limit: int) -> dict[int, WatchedThread]:
        """Return the threads after the stored position, and advance the position.

        The keys are row ids of sessions. After the last thread, start again.
        """
        query = "SELECT value FROM meta WHERE key = 'collect_at'"
        position = int(fetch_value(self._db, query, default=0))
        rows = self._db.execute(
            f"{_SELECT_WATCHED} AND c.session > ? ORDER BY c.session LIMIT ?",
            (position, limit),
        )
        threads = {stream: _unpack_watched(values) for stream, *values in rows}
        next_position = max(threads) if len(threads) == limit else 0
        self._db.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('collect_at', ?)",
            (str(next_position),),
        )
        return threads

    def list_indexed(self, thread_ids: Iterable[str]) -> list[SessionKey]:
        """Return the sessions of these threads, if they are indexed."""
        query = (
            "SELECT s.agent, s.session_id, s.source FROM session s "
            "JOIN collected c ON c.session = s.id "
            "WHERE s.thread_id <> '' AND s.thread_id"
        )
        rows = select_in_batches(self._db, query, thread_ids)
        return [SessionKey(*key) for key in rows]

    def load_thread(self, session: SessionKey) -> IndexedThread:
        """Load the state of a thread; return an empty one if it was never indexed."""
        row = self._db.execute(
            "SELECT status, stamp, files, summary FROM collected WHERE session = ?",
            (find_stream(self._db, session),),
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
        values = (thread.status, thread.stamp, thread.fingerprints_json)
        self._db.execute(
            "INSERT INTO collected (session, status, stamp, files, summary) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET status = excluded.status,"
            " stamp = excluded.stamp, files = excluded.files, "
            "summary = excluded.summary",
            (find_stream(self._db, thread.session), *values, thread.summary_json),
        )

    def mark_due(self, sessions: Collection[SessionKey], *, is_due: bool) -> None:
        """Mark these threads as due for indexing, or as indexed."""
        self._db.executemany(
            "UPDATE collected SET is_due = ? WHERE session = ?",
            [(int(is_due), stream) for stream in list_streams(self._db, sessions)],
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

    def list_unsearched_subagents(self, session: SessionKey) -> set[SessionKey]:
        """List subagents that have entries not yet searched for file changes."""
        # All entries of a subagent are in its unit 0.
        rows = self._db.execute(
            "SELECT c.agent, c.session_id, c.source FROM session c "
            "LEFT JOIN touched t ON t.session = c.id "
            "WHERE c.agent = ? AND c.session_id = ? AND c.source <> 'main' "
            "AND (SELECT max(id) FROM placement WHERE session = c.id AND unit = 0) "
            "> ifnull(t.newest, 0)",
            (session.agent, session.session_id),
        )
        return {SessionKey(*key) for key in rows}

    def list_unsearched_units(self, session: SessionKey) -> dict[int, int]:
        """Return the units with entries not yet searched for file changes, sorted.

        The values are the `read_order` of their newest entries.
        """
        stream = find_stream(self._db, session)
        query = "SELECT newest FROM touched WHERE session = ?"
        searched_until = int(fetch_value(self._db, query, (stream,), default=0))
        query = "SELECT max(id) FROM placement"
        newest_placement = int(fetch_value(self._db, query, default=0))
        if newest_placement - searched_until <= _MAX_NEW_PLACEMENTS:
            query = (
                "SELECT unit, max(id) FROM placement NOT INDEXED "
                "WHERE session = :stream AND id > :searched GROUP BY unit ORDER BY unit"
            )
        else:
            query = (
                f"{UNIT_ENDS} SELECT unit, newest FROM unit_end "
                "WHERE newest > :searched ORDER BY unit"
            )
        values = {"stream": stream, "searched": searched_until, "after": ALL_UNITS}
        return dict(self._db.execute(query, values).fetchall())

    def find_cwd_before(self, session: SessionKey, unit: int) -> str:
        """Return the working directory when a unit began, or "" if unknown."""
        # A change of kind `folder` is a change of the working directory.
        query = (
            "SELECT path FROM touch WHERE session = ? AND kind = 'folder' "
            "AND unit < ? ORDER BY placement DESC LIMIT 1"
        )
        values = (find_stream(self._db, session), unit)
        return str(fetch_value(self._db, query, values, default=""))

    def replace_file_changes(
        self, session: SessionKey, unit: int, changes: list[FileChange]
    ) -> None:
        """Replace the stored file changes of a unit by these."""
        stream = find_stream(self._db, session)
        self._db.execute(
            "DELETE FROM touch WHERE session = ? AND unit = ?", (stream, unit)
        )
        self._db.executemany(
            _SAVE_CHANGE,
            [
                (stream, nth, *_pack(structs.replace(change, unit=unit)))
                for nth, change in enumerate(changes)
            ],
        )

    def mark_searched(self, session: SessionKey, newest: int) -> None:
        """Record that entries up to this `read_order` were searched for changes."""
        stream = find_stream(self._db, session)
        query = "INSERT OR REPLACE INTO touched VALUES (?, ?)"
        self._db.execute(query, (stream, newest))

    def list_file_changes(self, session: SessionKey) -> list[FileChange]:
        """List the file changes of a stream, in order."""
        query = f"{_SELECT_CHANGES} WHERE t.session = ? ORDER BY t.placement, t.nth"
        rows = self._db.execute(query, (find_stream(self._db, session),))
        return [_unpack(row) for row in rows]

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

    def list_old_thread_ids(self, session: SessionKey) -> list[str]:
        """List the earlier ids of a thread that Leslie renamed."""
        query = "SELECT thread_id FROM thread_move WHERE session = ?"
        return fetch_column(self._db, query, (find_stream(self._db, session),))

    def list_file_changes_at(self, path: str) -> list[FileChange]:
        """List the changes of all sessions to one file, by time."""
        query = (
            f"{_SELECT_CHANGES} WHERE t.path = ? AND t.kind <> 'folder' "
            "ORDER BY ifnull(t.at_us, 0), t.placement, t.nth"
        )
        return [_unpack(row) for row in self._db.execute(query, (path,))]


def _unpack_watched(values: Iterable[Any]) -> WatchedThread:
    """Return a thread from a row of _SELECT_WATCHED without the first column."""
    agent, session_id, source, stamp, thread_id, folder, cwd = values
    session = SessionKey(agent, session_id, source)
    return WatchedThread(session, stamp, thread_id, os.fsdecode(folder), cwd)


def _pack(change: FileChange) -> tuple[Any, ...]:
    """Return the values of _CHANGE_COLUMNS."""
    at_us = to_us(change.at) if change.at else None
    return (*_get_copied_fields(change), change.read_order, at_us)


def _unpack(row: Iterable[Any]) -> FileChange:
    """Return the file change of a row of _SELECT_CHANGES."""
    agent, session_id, source, *copied, placement, at_us = row
    return FileChange(
        session=SessionKey(agent, session_id, source),
        read_order=placement,
        at=from_us(at_us) if at_us is not None else None,
        **dict(zip(_COPIED_FIELDS, copied, strict=True)),
    )
