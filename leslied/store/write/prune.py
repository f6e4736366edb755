"""Delete whole sessions from the store. Records that other sessions share remain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.failpoints import failpoint
from leslied.model.record import SessionKey
from leslied.store.ledgers.archive import (
    PENDING_DELETION,
    UNKNOWN_SIZE,
    clamp_checkpoints,
)
from leslied.store.sql import fetch_column
from leslied.store.write.record_removal import RecordRemoval
from leslied.store.write.tombstones import PRUNED, Tombstones

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_UNSHARED_ENTRIES = (
    "SELECT DISTINCT p.entry FROM placement p WHERE p.session IN temp.pruned_session "
    "AND NOT EXISTS (SELECT 1 FROM placement o WHERE o.entry = p.entry "
    "AND o.session NOT IN temp.pruned_session)"
)
"""Entries that no remaining session contains."""
_SESSION_TABLES = (
    "touch",
    "touched",
    "collected",
    "left_folder",
    "published",
    "thread_due",
    "thread_move",
    "transcript",
    "feed",
    "placement",
)
"""Tables whose rows each belong to one session."""
_VACUUM_NEEDED_KEY = "prune_unfinished"


class SessionPruner:
    """Delete sessions; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def remove(self, sessions: Iterable[tuple[str, str]]) -> int:
        """Delete sessions and their subagents; return the number of deleted records.

        `sessions` has (agent, session id). Tombstones prevent the entries from being
        imported again.
        """
        self._select_streams("agent = ? AND session_id = ?", sessions)
        self._add_tombstones()
        return self._remove_streams()

    def remove_streams(self, streams: Iterable[int]) -> int:
        """Like `remove`, but delete only these streams, not their subagents."""
        self._select_streams("id = ?", [(stream,) for stream in streams])
        self._add_tombstones()
        return self._remove_streams()

    def _remove_streams(self) -> int:
        """Delete the selected streams; return the number of deleted records."""
        self.mark_vacuum_needed()
        sources = self._find_sources()
        query = "SELECT DISTINCT agent FROM session WHERE id IN temp.pruned_session"
        removal = RecordRemoval(self._db, fetch_column(self._db, query))
        removal.remove(fetch_column(self._db, _UNSHARED_ENTRIES))
        self._remove_usage()
        self._mark_indexes_due()
        for table in _SESSION_TABLES:
            self._db.execute(
                f"DELETE FROM {table} WHERE session IN temp.pruned_session"
            )
        self._db.execute("DELETE FROM session WHERE id IN temp.pruned_session")
        self._remove_projects()
        failpoint("prune.half")
        removal.delete_orphan_titles()
        self._mark_sources_pruned(sources)
        clamp_checkpoints(self._db)
        return removal.count

    def needs_vacuum(self) -> bool:
        """Return whether the file may still contain bytes of deleted sessions."""
        query = "SELECT 1 FROM meta WHERE key = ?"
        return self._db.execute(query, (_VACUUM_NEEDED_KEY,)).fetchone() is not None

    def mark_vacuumed(self) -> None:
        """Record that the file no longer contains bytes of deleted sessions."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (_VACUUM_NEEDED_KEY,))

    def _select_streams(
        self, condition: str, values: Iterable[tuple[Any, ...]]
    ) -> None:
        """Put the streams to delete into a temporary table of this connection."""
        self._db.execute(
            "CREATE TEMP TABLE IF NOT EXISTS pruned_session (id INTEGER PRIMARY KEY)"
        )
        self._db.execute("DELETE FROM temp.pruned_session")
        self._db.executemany(
            "INSERT OR IGNORE INTO temp.pruned_session "
            f"SELECT id FROM session WHERE {condition}",
            values,
        )

    def mark_vacuum_needed(self) -> None:
        """Record that the file may contain bytes of deleted entries."""
        self._db.execute(
            "INSERT OR IGNORE INTO meta VALUES (?, '1')", (_VACUUM_NEEDED_KEY,)
        )

    def _add_tombstones(self) -> None:
        tombstones = Tombstones(self._db)
        streams = self._db.execute(
            "SELECT id, agent, session_id, source FROM session "
            "WHERE id IN temp.pruned_session"
        ).fetchall()
        for session, *key in streams:
            entries = self._db.execute(
                "SELECT DISTINCT r.entry_id FROM placement p "
                "JOIN record r ON r.entry = p.entry WHERE p.session = ?",
                (session,),
            )
            tombstones.add(SessionKey(*key), (entry_id for (entry_id,) in entries))

    def _find_sources(self) -> list[int]:
        """Find the sources that contain deleted entries, and copies of these sources.

        A copy of a log has no placements; its length and checksum identify it.
        """
        rows = self._db.execute(
            "SELECT DISTINCT source FROM placement WHERE session IN temp.pruned_session"
        )
        placed_sources = {source for (source,) in rows}
        sources = self._db.execute(
            "SELECT id, id IN (SELECT source FROM placement), agent, offset, crc "
            "FROM source WHERE offset > 0"
        ).fetchall()
        pruned_contents = {
            tuple(content)
            for source, _, *content in sources
            if source in placed_sources
        }
        copies = [
            source
            for source, has_placements, *content in sources
            if not has_placements and tuple(content) in pruned_contents
        ]
        return sorted(placed_sources.union(copies))

    def _remove_usage(self) -> None:
        """Delete usage that belongs only to pruned sessions; reassign shared usage."""
        execute = self._db.execute
        new_owner = (
            "SELECT min(h.session) FROM usage_share h "
            "WHERE h.usage = usage.id AND h.session NOT IN temp.pruned_session"
        )
        execute(
            f"UPDATE usage SET session = ifnull(({new_owner}), session) "
            "WHERE session IN temp.pruned_session "
            "AND id IN (SELECT usage FROM usage_share)"
        )
        execute("DELETE FROM usage WHERE session IN temp.pruned_session")
        execute("DELETE FROM usage_share WHERE session IN temp.pruned_session")
        execute(
            "DELETE FROM usage_share WHERE usage IN "
            "(SELECT usage FROM usage_share GROUP BY usage HAVING count(*) = 1)"
        )

    def _mark_indexes_due(self) -> None:
        """Mark one remaining thread of each affected project as due for indexing.

        The project's index is then written again, without the pruned threads.
        """
        self._db.execute(
            "UPDATE collected SET is_due = 1 WHERE session IN (SELECT max(s.id) "
            "FROM session s JOIN collected c ON c.session = s.id "
            "WHERE s.folder <> x'' AND s.id NOT IN temp.pruned_session AND s.folder IN "
            "(SELECT folder FROM session WHERE id IN temp.pruned_session) "
            "GROUP BY s.folder)"
        )

    def _remove_projects(self) -> None:
        """Delete the rows of folders and repositories without remaining sessions."""
        self._db.execute(
            "DELETE FROM project_folder WHERE path NOT IN (SELECT cwd FROM session)"
        )
        self._db.execute(
            "DELETE FROM repository "
            "WHERE path NOT IN (SELECT repository FROM project_folder)"
        )

    def _mark_sources_pruned(self, sources: list[int]) -> None:
        """Exclude these sources from the archive; mark archive files for deletion.

        Also delete noise and rejections of sources without remaining entries. The
        cursors are not reset, so that the sources are not read again.
        """
        rows = self._db.execute("SELECT DISTINCT source FROM placement")
        used_sources = {source for (source,) in rows}
        unused_sources = [(source,) for source in sources if source not in used_sources]
        for table in ("noise", "rejected"):
            self._db.executemany(
                f"DELETE FROM {table} WHERE source = ?", unused_sources
            )
        exclude_from_archive(self._db, sources, PENDING_DELETION)


def exclude_from_archive(
    db: sqlite3.Connection, sources: Iterable[int], size: int
) -> None:
    """Stop archiving these sources, because entries of them were deleted.

    `size` is recorded as the size of their archive files, if they have any:
    PENDING_DELETION, or UNKNOWN_SIZE to keep the files.
    """
    parameters = [(source,) for source in sources]
    db.executemany(
        "INSERT INTO noise SELECT id, generation, 0, offset, "
        f"'{PRUNED}' FROM source WHERE id = ?",
        parameters,
    )
    db.executemany(
        "INSERT OR REPLACE INTO archived SELECT o.id, o.generation, o.offset, "
        "o.finished, 0, 0, ifnull(a.file, ''), "
        f"CASE WHEN ifnull(a.file, '') = '' THEN {UNKNOWN_SIZE} ELSE {size} END, 0, 0 "
        "FROM source o LEFT JOIN archived a ON a.source = o.id WHERE o.id = ?",
        parameters,
    )
