"""Taking whole sessions out of the store; what others share with them stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.failpoints import failpoint
from leslied.model.record import SessionKey, make_record_id
from leslied.store.archive_ledger import PENDING_DELETION
from leslied.store.columns import RECORD_COLUMNS, unpack_record
from leslied.store.fts_text import extract_index_text
from leslied.store.tombstones import PRUNED, Tombstones

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.record import Record

_UNSHARED_ENTRIES = (
    "SELECT DISTINCT p.entry FROM placement p WHERE p.session IN temp.going "
    "AND NOT EXISTS (SELECT 1 FROM placement o WHERE o.entry = p.entry "
    "AND o.session NOT IN temp.going)"
)
"""Entries that no session that stays shows."""
_SESSION_TABLES = (
    "touch",
    "touched",
    "collected",
    "published",
    "thread_due",
    "thread_move",
    "transcript",
    "feed",
    "placement",
)
"""Tables with rows of one session each."""
_VACUUM_NEEDED_KEY = "prune_unfinished"
_BATCH_SIZE = 200
_NO_SESSION = SessionKey("", "")


class SessionPruner:
    """Sessions on their way out; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def remove(self, sessions: Iterable[tuple[str, str]]) -> int:
        """These sessions are gone, with their subagents, and never come back.

        Says how many records went with them.
        """
        self._select_sessions(sessions)
        self._mark_vacuum_needed()
        self._add_tombstones()
        sources = self._find_sources()
        leaves, removed = self._remove_records()
        self._remove_usage()
        self._mark_indexes_due()
        for table in _SESSION_TABLES:
            self._db.execute(f"DELETE FROM {table} WHERE session IN temp.going")
        self._db.execute("DELETE FROM session WHERE id IN temp.going")
        failpoint("prune.half")
        self._remove_titles(leaves)
        self._mark_sources_pruned(sources)
        self._clamp_checkpoints()
        return removed

    def needs_vacuum(self) -> bool:
        """Whether the file may still hold words of what is gone."""
        query = "SELECT 1 FROM meta WHERE key = ?"
        return self._db.execute(query, (_VACUUM_NEEDED_KEY,)).fetchone() is not None

    def mark_vacuumed(self) -> None:
        """Nothing of what is gone is left in the file."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (_VACUUM_NEEDED_KEY,))

    def _select_sessions(self, sessions: Iterable[tuple[str, str]]) -> None:
        """The streams that are meant stand in a table of this connection alone."""
        self._db.execute(
            "CREATE TEMP TABLE IF NOT EXISTS going (id INTEGER PRIMARY KEY)"
        )
        self._db.execute("DELETE FROM temp.going")
        self._db.executemany(
            "INSERT INTO temp.going SELECT id FROM session "
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
            "SELECT id, agent, session_id, source FROM session WHERE id IN temp.going"
        ).fetchall()
        for row, *key in streams:
            entries = self._db.execute(
                "SELECT DISTINCT r.entry_id FROM placement p "
                "JOIN record r ON r.entry = p.entry WHERE p.session = ?",
                (row,),
            )
            tombstones.add(SessionKey(*key), (name for (name,) in entries))

    def _find_sources(self) -> list[int]:
        """The logs that hold what goes: those that gave it, and copies of them.

        A copy of a log added nothing, and is told by its length and checksum.
        """
        rows = self._db.execute(
            "SELECT DISTINCT source FROM placement WHERE session IN temp.going"
        )
        found = {source for (source,) in rows}
        known = self._db.execute(
            "SELECT id, agent, offset, crc, id IN (SELECT source FROM placement) "
            "FROM source WHERE offset > 0"
        ).fetchall()
        bodies = {row[1:4] for row in known if row[0] in found}
        copies = [row[0] for row in known if not row[4] and row[1:4] in bodies]
        return sorted(found.union(copies))

    def _remove_records(self) -> tuple[set[bytes], int]:
        """Records that stay nowhere are gone, from the text index too.

        Says which entries may have titles that wait for them, and how many went.
        """
        query = "SELECT DISTINCT agent FROM session WHERE id IN temp.going"
        agents = [agent for (agent,) in self._db.execute(query)]
        entries = [entry for (entry,) in self._db.execute(_UNSHARED_ENTRIES)]
        leaves: set[bytes] = set()
        removed = 0
        for start in range(0, len(entries), _BATCH_SIZE):
            part = entries[start : start + _BATCH_SIZE]
            found = list(self._load_records(part))
            # The index holds no text of its own: it must be told what to forget.
            self._db.executemany(
                "INSERT INTO record_text (record_text, rowid, text) "
                "VALUES ('delete', ?, ?)",
                [(row, text) for row, _, r in found if (text := extract_index_text(r))],
            )
            for _, name, record in found:
                leaves.update([name], _find_titled_entries(record, agents))
            self._db.executemany(
                "DELETE FROM record WHERE entry = ?", [(entry,) for entry in part]
            )
            removed += len(found)
        return leaves, removed

    def _load_records(self, entries: list[int]) -> Iterator[tuple[int, bytes, Record]]:
        """Every version of the entries: its number, its id, and what it says."""
        marks = ", ".join("?" * len(entries))
        rows = self._db.execute(
            f"SELECT id, entry_id, {RECORD_COLUMNS} FROM record "
            f"WHERE entry IN ({marks})",
            entries,
        )
        for row, name, *columns in rows:
            yield row, name, unpack_record(tuple(columns), _NO_SESSION)[0]

    def _remove_usage(self) -> None:
        """Tokens of messages that nobody shows any more are gone; others count on."""
        run = self._db.execute
        left = (
            "SELECT min(h.session) FROM usage_share h "
            "WHERE h.usage = usage.id AND h.session NOT IN temp.going"
        )
        run(
            f"UPDATE usage SET session = ifnull(({left}), session) "
            "WHERE session IN temp.going AND id IN (SELECT usage FROM usage_share)"
        )
        run("DELETE FROM usage WHERE session IN temp.going")
        run("DELETE FROM usage_share WHERE session IN temp.going")
        run(
            "DELETE FROM usage_share WHERE usage IN "
            "(SELECT usage FROM usage_share GROUP BY usage HAVING count(*) = 1)"
        )

    def _mark_indexes_due(self) -> None:
        """The indexes of projects that lose a thread are written again."""
        self._db.execute(
            "UPDATE collected SET is_due = 1 WHERE session IN (SELECT max(s.id) "
            "FROM session s JOIN collected c ON c.session = s.id "
            "WHERE s.folder <> x'' AND s.id NOT IN temp.going AND s.folder IN "
            "(SELECT folder FROM session WHERE id IN temp.going) GROUP BY s.folder)"
        )

    def _remove_titles(self, leaves: set[bytes]) -> None:
        """Titles that waited for, or came of, what is gone."""
        self._db.executemany(
            "DELETE FROM leaf_title WHERE entry_id = ?1 "
            "AND NOT EXISTS (SELECT 1 FROM record WHERE entry_id = ?1)",
            [(leaf,) for leaf in leaves],
        )

    def _mark_sources_pruned(self, sources: list[int]) -> None:
        """No log that held what is gone is archived, or ever will be.

        How far it was read stays, so that it is not read again.
        """
        rows = self._db.execute("SELECT DISTINCT source FROM placement")
        shared = {source for (source,) in rows}
        emptied = [(each,) for each in sources if each not in shared]
        for table in ("noise", "rejected"):
            self._db.executemany(f"DELETE FROM {table} WHERE source = ?", emptied)
        closed = [(each,) for each in sources]
        self._db.executemany(
            "INSERT INTO noise SELECT id, generation, 0, offset, "
            f"'{PRUNED}' FROM source WHERE id = ?",
            closed,
        )
        self._db.executemany(
            "INSERT OR REPLACE INTO archived SELECT o.id, o.generation, o.offset, "
            "o.finished, 0, 0, ifnull(a.file, ''), "
            f"CASE WHEN ifnull(a.file, '') = '' THEN -1 ELSE {PENDING_DELETION} END "
            "FROM source o LEFT JOIN archived a ON a.source = o.id WHERE o.id = ?",
            closed,
        )

    def _clamp_checkpoints(self) -> None:
        """Numbers of what is gone are given again: nothing counts from above them."""
        newest = "(SELECT ifnull(max(id), 0) FROM placement)"
        self._db.execute(f"UPDATE archived SET newest = min(newest, {newest})")
        self._db.execute(
            f"UPDATE meta SET value = CAST({newest} AS TEXT) WHERE "
            f"key = 'archived_placement' AND CAST(value AS INTEGER) > {newest}"
        )


def _find_titled_entries(record: Record, agents: list[str]) -> list[bytes]:
    """The entry that a record gives a title to, whoever wrote it."""
    leaf = record.metadata.get("leaf")
    return [make_record_id(agent, str(leaf), 0) for agent in agents] if leaf else []
