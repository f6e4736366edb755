"""Delete whole sessions from the store. Records that other sessions share remain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.failpoints import failpoint
from leslied.model.record import SessionKey, make_record_id
from leslied.store.columns import RECORD_COLUMNS, unpack_record
from leslied.store.fts_text import extract_index_text
from leslied.store.ledgers.archive import (
    PENDING_DELETION,
    UNKNOWN_SIZE,
    clamp_checkpoints,
)
from leslied.store.sql import list_columns
from leslied.store.write.tombstones import PRUNED, Tombstones

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.record import Record

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
_BATCH_SIZE = 200
"""Number of entries whose records are in memory at once."""
_NO_SESSION = SessionKey("", "")
"""Key for unpacked records; their index text does not depend on the session."""


class SessionPruner:
    """Delete sessions; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def remove(self, sessions: Iterable[tuple[str, str]]) -> int:
        """Delete sessions and their subagents; return the number of deleted records.

        `sessions` has (agent, session id). Tombstones prevent the entries from being
        imported again.
        """
        self._select_sessions(sessions)
        self._mark_vacuum_needed()
        self._add_tombstones()
        sources = self._find_sources()
        entry_ids, removed_records = self._remove_records()
        self._remove_usage()
        self._mark_indexes_due()
        for table in _SESSION_TABLES:
            self._db.execute(
                f"DELETE FROM {table} WHERE session IN temp.pruned_session"
            )
        self._db.execute("DELETE FROM session WHERE id IN temp.pruned_session")
        self._remove_projects()
        failpoint("prune.half")
        self._delete_orphan_titles(entry_ids)
        self._mark_sources_pruned(sources)
        clamp_checkpoints(self._db)
        return removed_records

    def needs_vacuum(self) -> bool:
        """Return whether the file may still contain bytes of deleted sessions."""
        query = "SELECT 1 FROM meta WHERE key = ?"
        return self._db.execute(query, (_VACUUM_NEEDED_KEY,)).fetchone() is not None

    def mark_vacuumed(self) -> None:
        """Record that the file no longer contains bytes of deleted sessions."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (_VACUUM_NEEDED_KEY,))

    def _select_sessions(self, sessions: Iterable[tuple[str, str]]) -> None:
        """Put the streams to delete into a temporary table of this connection."""
        self._db.execute(
            "CREATE TEMP TABLE IF NOT EXISTS pruned_session (id INTEGER PRIMARY KEY)"
        )
        self._db.execute("DELETE FROM temp.pruned_session")
        self._db.executemany(
            "INSERT INTO temp.pruned_session SELECT id FROM session "
            "WHERE agent = ? AND session_id = ?",
            sessions,
        )

    def _mark_vacuum_needed(self) -> None:
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

    def _remove_records(self) -> tuple[set[bytes], int]:
        """Delete unshared records, also from the text index.

        Return the ids of entries for which `leaf_title` may have a title, and the
        number of deleted records.
        """
        query = "SELECT DISTINCT agent FROM session WHERE id IN temp.pruned_session"
        agents = [agent for (agent,) in self._db.execute(query)]
        entries = [entry for (entry,) in self._db.execute(_UNSHARED_ENTRIES)]
        entry_ids: set[bytes] = set()
        removed = 0
        for start in range(0, len(entries), _BATCH_SIZE):
            batch = entries[start : start + _BATCH_SIZE]
            records = list(self._load_records(batch))
            # The index has no copy of the text: a deletion must pass the same text.
            self._db.executemany(
                "INSERT INTO record_text (record_text, rowid, text) "
                "VALUES ('delete', ?, ?)",
                [
                    (row_id, text)
                    for row_id, _, record in records
                    if (text := extract_index_text(record))
                ],
            )
            for _, entry_id, record in records:
                entry_ids.update([entry_id], _make_titled_entry_ids(record, agents))
            self._db.executemany(
                "DELETE FROM record WHERE entry = ?", [(entry,) for entry in batch]
            )
            removed += len(records)
        return entry_ids, removed

    def _load_records(self, entries: list[int]) -> Iterator[tuple[int, bytes, Record]]:
        """Yield every version of the entries as (row id, entry id, record)."""
        placeholders = ", ".join("?" * len(entries))
        rows = self._db.execute(
            f"SELECT id, entry_id, {list_columns(RECORD_COLUMNS)} FROM record "
            f"WHERE entry IN ({placeholders})",
            entries,
        )
        for row_id, entry_id, *values in rows:
            record, _, _ = unpack_record(values, _NO_SESSION)
            yield row_id, entry_id, record

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
        """Delete the folders in which no remaining session worked."""
        self._db.execute(
            "DELETE FROM project_folder WHERE path NOT IN (SELECT cwd FROM session)"
        )
        self._db.execute(
            "DELETE FROM repository "
            "WHERE path NOT IN (SELECT repository FROM project_folder)"
        )

    def _delete_orphan_titles(self, entry_ids: set[bytes]) -> None:
        """Delete the titles that logs gave to those of these entries that are gone."""
        self._db.executemany(
            "DELETE FROM leaf_title WHERE entry_id = ?1 "
            "AND NOT EXISTS (SELECT 1 FROM record WHERE entry_id = ?1)",
            [(entry_id,) for entry_id in entry_ids],
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
        parameters = [(source,) for source in sources]
        self._db.executemany(
            "INSERT INTO noise SELECT id, generation, 0, offset, "
            f"'{PRUNED}' FROM source WHERE id = ?",
            parameters,
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO archived SELECT o.id, o.generation, o.offset, "
            "o.finished, 0, 0, ifnull(a.file, ''), "
            f"CASE WHEN ifnull(a.file, '') = '' THEN {UNKNOWN_SIZE} "
            f"ELSE {PENDING_DELETION} END "
            "FROM source o LEFT JOIN archived a ON a.source = o.id WHERE o.id = ?",
            parameters,
        )


def _make_titled_entry_ids(record: Record, agents: list[str]) -> list[bytes]:
    """Return the ids that the leaf of a title may have: one for each agent.

    Return [] if the record is not a title with a leaf.
    """
    leaf = record.metadata.get("leaf")
    return [make_record_id(agent, str(leaf), 0) for agent in agents] if leaf else []
