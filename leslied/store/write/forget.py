"""Delete entries from all sessions, and every other trace of a text in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from leslied.failpoints import failpoint
from leslied.store.columns import IS_CONTEXT
from leslied.store.ledgers.archive import (
    PENDING_DELETION,
    UNKNOWN_SIZE,
    ArchiveLedger,
    clamp_checkpoints,
)
from leslied.store.sql import fetch_column, select_in_batches
from leslied.store.write.prune import SessionPruner, exclude_from_archive
from leslied.store.write.record_removal import RecordRemoval
from leslied.store.write.session_refold import Coverage, SessionRefold
from leslied.store.write.session_rows import SessionRows
from leslied.store.write.tombstones import PRUNED
from leslied.store.write.usage_rows import recount_usage

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.literal_text import LiteralText

_SESSION_TEXTS = ("title", "first_prompt", "description", "agent_type", "cwd", "model")
"""Columns of a session that may still hold a text when no entry with it is left."""


class Forgetter(SessionPruner):
    """Delete sessions and entries; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection, observed_us: int) -> None:
        super().__init__(db)
        self._db = db
        self._observed_us = observed_us

    def seal_sources(self, entry_ids: Iterable[bytes], *, keeps_files: bool) -> None:
        """Stop archiving the sources with these entries.

        Unless `keeps_files`, their archive files are deleted later.
        """
        rows = select_in_batches(
            self._db,
            "SELECT DISTINCT p.source FROM record r "
            "JOIN placement p ON p.entry = r.entry WHERE r.entry_id",
            entry_ids,
        )
        size = UNKNOWN_SIZE if keeps_files else PENDING_DELETION
        exclude_from_archive(self._db, sorted({source for (source,) in rows}), size)

    def seal_paths(self, sources: Iterable[tuple[str, bytes]]) -> None:
        """Stop archiving the sources with these agents and paths."""
        query = "SELECT id FROM source WHERE agent = ? AND path = ?"
        ids = [id_ for key in sources for id_ in fetch_column(self._db, query, key)]
        exclude_from_archive(self._db, ids, UNKNOWN_SIZE)

    def remove_entries(self, entry_ids: Iterable[bytes]) -> int:
        """Delete entries from all sessions; return the number of deleted records.

        A session or subagent that has no other entries is deleted, too. All
        transcripts of the other affected sessions become due.
        """
        self.mark_vacuum_needed()
        query = "SELECT entry FROM record WHERE entry_id"
        rows = select_in_batches(self._db, query, entry_ids)
        entries = {entry for (entry,) in rows}
        query = "SELECT DISTINCT session FROM placement WHERE entry"
        rows = select_in_batches(self._db, query, entries)
        streams = {stream for (stream,) in rows}
        sessions = SessionRows(self._db)
        # Entries are only deleted; no source was decoded again.
        refold = SessionRefold(
            db=self._db,
            sessions=sessions,
            source=0,
            coverage=Coverage(),
            changed_entries=set(),
            observed_us=self._observed_us,
        )
        for stream in sorted(streams):
            refold.remove(stream, entries)
        recount_usage(self._db, streams)
        agents = fetch_column(self._db, "SELECT DISTINCT agent FROM session")
        removal = RecordRemoval(self._db, agents)
        removal.remove(entries)
        removal.delete_orphan_titles()
        failpoint("forget.half")
        sessions.write(refold.entry_ids)
        self._make_transcripts_due(streams)
        self.remove_streams(self._list_empty(streams))
        clamp_checkpoints(self._db)
        return removal.count

    def remove_unplaced(self) -> None:
        """Delete the records of entries that newer decoders no longer yield."""
        query = (
            "SELECT DISTINCT entry FROM record WHERE NOT is_current "
            "AND entry NOT IN (SELECT entry FROM placement)"
        )
        agents = fetch_column(self._db, "SELECT DISTINCT agent FROM session")
        removal = RecordRemoval(self._db, agents)
        removal.remove(fetch_column(self._db, query))
        removal.delete_orphan_titles()

    def _make_transcripts_due(self, streams: set[int]) -> None:
        """Make all transcripts of these streams' sessions due; their names remain."""
        session_streams = (
            "SELECT f.id FROM session f JOIN session s ON s.agent = f.agent "
            "AND s.session_id = f.session_id WHERE s.id = ?"
        )
        parameters = [(stream,) for stream in streams]
        # Units that no longer exist have negative numbers.
        self._db.executemany(
            "DELETE FROM transcript WHERE unit < 0 AND session = ?", parameters
        )
        self._db.executemany(
            "UPDATE transcript SET digest = x'', "
            "newest = CASE WHEN is_removed THEN newest ELSE 0 END "
            f"WHERE session IN ({session_streams})",
            parameters,
        )
        self._db.executemany(
            "UPDATE session SET is_dirty = 1 "
            f"WHERE entries > 0 AND id IN ({session_streams})",
            parameters,
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO thread_due (session) SELECT id FROM session "
            f"WHERE source = 'main' AND folder <> x'' AND id IN ({session_streams})",
            parameters,
        )

    def _list_empty(self, streams: set[int]) -> list[int]:
        """Return the streams without entries, not counting those of IS_CONTEXT."""
        query = (
            "SELECT 1 FROM placement p JOIN record r ON r.entry = p.entry "
            f"WHERE p.session = ? AND NOT {IS_CONTEXT} LIMIT 1"
        )
        return [s for s in streams if not fetch_column(self._db, query, (s,))]

    def scrub(self, text: LiteralText) -> None:
        """Delete the text from all tables except those of entries."""
        self.mark_vacuum_needed()
        self._db.create_function("holds", -1, text.is_in_values, deterministic=True)
        execute = self._db.execute
        execute(
            f"INSERT INTO noise SELECT source, generation, offset, length, '{PRUNED}' "
            "FROM rejected WHERE holds(head, reason)"
        )
        for table, columns in (
            ("rejected", "head, reason"),
            ("leaf_title", "title"),
            ("failure", "name, reason"),
            ("touch", "path, body"),
            ("transcript", "file"),
            ("project_folder", "path, worktree, repository, project"),
            ("repository", "path, remote, linked_to"),
        ):
            execute(f"DELETE FROM {table} WHERE holds({columns})")
        execute(
            "DELETE FROM relations_file "
            "WHERE folder NOT IN (SELECT folder FROM session)"
        )
        for column in _SESSION_TEXTS:
            execute(f"UPDATE session SET {column} = '' WHERE holds({column})")
        execute("UPDATE source SET trouble = '' WHERE holds(trouble)")
        execute(
            "UPDATE collected SET summary = '', files = '', stamp = x'', is_due = 1 "
            "WHERE holds(summary, files)"
        )
        self._scrub_states(text)

    def _scrub_states(self, text: LiteralText) -> None:
        """In decoder states, replace each value that contains the text by ""."""
        rows = self._db.execute("SELECT id, state FROM source WHERE holds(state)")
        self._db.executemany(
            "UPDATE source SET state = ? WHERE id = ?",
            [
                (
                    msgspec.json.encode(
                        _scrub_value(msgspec.json.decode(state), text)
                    ).decode(),
                    source,
                )
                for source, state in rows.fetchall()
            ],
        )

    def update_feeds(self) -> None:
        """Add new placements to `feed`, the table of each source's sessions."""
        ArchiveLedger(self._db).update_feeds()


def _scrub_value(value: Any, text: LiteralText) -> Any:
    """Return a JSON value with "" instead of each string that holds the text.

    Omit fields whose name holds it.
    """
    if isinstance(value, str):
        return "" if text.is_in_values(value) else value
    if isinstance(value, list):
        return [_scrub_value(item, text) for item in value]
    if isinstance(value, dict):
        return {
            name: _scrub_value(item, text)
            for name, item in value.items()
            if not text.is_in_values(name)
        }
    return value
