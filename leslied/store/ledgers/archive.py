"""Ledger of the archiver: which sources are due, and how far each is archived."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from leslied.store.cursors import CURSOR_COLUMNS, unpack_cursor
from leslied.store.sql import (
    fetch_value,
    list_columns,
    make_insert,
    select_in_batches,
)
from leslied.store.write.tombstones import PRUNED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.source import Cursor

_NO_PLACEMENT = 2**53
"""Sort key of a source without placements: other sources have all of its entries."""
_FIRST_PLACEMENT = (
    f"ifnull((SELECT min(first) FROM feed f WHERE f.source = o.id), {_NO_PLACEMENT})"
)
_FEED_CHECKPOINT_KEY = "archived_placement"
"""Key in `meta` of the last placement that was added to the table `feed`."""
UNKNOWN_SIZE = -1
"""Value of `size` if there is no archive file, or its content is unexpected."""
PENDING_DELETION = -2
"""Value of `size` for a file that must be deleted because its session was pruned."""


class ArchiveCursor(Struct, frozen=True):
    """Row of the table `archived`: the position up to which a source is archived."""

    source: int
    generation: int
    offset: int
    finished: int
    number: int
    """Number of the generation in the archive file.

    It can differ from `generation`, because archive files can outlive the store.
    """
    newest: int
    """Placement up to which results in separate files are archived."""
    file: str
    size: int
    """Size of the archive file in bytes, or UNKNOWN_SIZE, or PENDING_DELETION."""
    mtime_ns: int = 0
    """Modification time of the archive file when it was last written or verified."""
    verified_us: int = 0
    """When the archive file was last verified; 0 if it must be verified."""


class ArchivedFile(NamedTuple):
    """State of an archive file in the ledger."""

    source: int
    file: str
    size: int
    mtime_ns: int
    is_verified: bool
    """Whether the file was verified since it last changed."""
    is_log_gone: bool
    """Whether the agent's log is gone, so that the archive has the only copy."""


_ARCHIVE_COLUMNS = ArchiveCursor.__struct_fields__


class DueSource(Struct, frozen=True):
    """Source with bytes that are not archived yet."""

    source: int
    agent: str
    path: bytes
    first_placement: int
    """The source's first placement in any session; sorts sources by time of reading."""
    cursor: Cursor
    archive_cursor: ArchiveCursor | None


class ArchiveLedger:
    """Read and write the state of the archive; the caller holds the transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def update_feeds(self) -> None:
        """Add new placements to `feed`, the table of each source's sessions."""
        query = "SELECT value FROM meta WHERE key = ?"
        checkpoint = int(
            fetch_value(self._db, query, (_FEED_CHECKPOINT_KEY,), default=0)
        )
        newest = self.get_newest_placement()
        if newest == checkpoint:
            return
        self._db.execute(
            "INSERT OR IGNORE INTO feed SELECT source, session, min(id) "
            "FROM placement WHERE id > ? GROUP BY source, session",
            (checkpoint,),
        )
        self._db.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            (_FEED_CHECKPOINT_KEY, str(newest)),
        )

    def list_due(self, stop_cutoff_us: int) -> list[int]:
        """List existing sources with unarchived bytes and only inactive sessions.

        A session is inactive if it is settled, stopped, or has no entries since
        `stop_cutoff_us`. A source without sessions must be unchanged since then.
        """
        rows = self._db.execute(
            "SELECT o.id FROM source o LEFT JOIN archived a ON a.source = o.id "
            "WHERE NOT o.is_gone AND (o.offset > 0 OR o.finished > 0) "
            "AND (a.source IS NULL OR (a.generation, a.offset, a.finished) <> "
            "(o.generation, o.offset, o.finished)) AND NOT EXISTS "
            "(SELECT 1 FROM feed f JOIN session s ON s.id = f.session "
            "WHERE f.source = o.id AND s.is_dirty AND s.stopped_us IS NULL "
            "AND ifnull(s.ended_us, 0) > :quiet) AND (ifnull(o.mtime_ns, 0) / 1000 "
            "<= :quiet OR EXISTS (SELECT 1 FROM feed f WHERE f.source = o.id)) "
            f"ORDER BY {_FIRST_PLACEMENT}, o.path",
            {"quiet": stop_cutoff_us},
        )
        return [source for (source,) in rows]

    def load_sources(self, sources: Iterable[int]) -> list[DueSource]:
        """Load these sources with both of their cursors, sorted by first placement."""
        ids = list(sources)
        archive_cursors = self._load_archive_cursors(ids)
        rows = select_in_batches(
            self._db,
            f"SELECT o.id, o.agent, o.path, {_FIRST_PLACEMENT}, "
            f"{list_columns(CURSOR_COLUMNS, table='o')} FROM source o WHERE o.id",
            ids,
        )
        due_sources = [
            DueSource(
                source=source,
                agent=agent,
                path=path,
                first_placement=first_placement,
                cursor=unpack_cursor(cursor),
                archive_cursor=archive_cursors.get(source),
            )
            for source, agent, path, first_placement, *cursor in rows
        ]
        return sorted(
            due_sources, key=lambda source: (source.first_placement, source.path)
        )

    def _load_archive_cursors(self, sources: list[int]) -> dict[int, ArchiveCursor]:
        """Return how far these sources are archived; omit those that never were."""
        query = f"SELECT {list_columns(_ARCHIVE_COLUMNS)} FROM archived WHERE source"
        rows = select_in_batches(self._db, query, sources)
        cursors = [ArchiveCursor(*row) for row in rows]
        return {cursor.source: cursor for cursor in cursors}

    def is_excluded(self, source: int) -> bool:
        """Return whether this source has skipped entries of an excluded project."""
        query = "SELECT 1 FROM noise WHERE source = ? AND kind = 'excluded'"
        return self._db.execute(query, (source,)).fetchone() is not None

    def is_pruned(self, source: int) -> bool:
        """Return whether any entry of this source was pruned."""
        query = "SELECT 1 FROM noise WHERE source = ? AND kind = ?"
        return self._db.execute(query, (source, PRUNED)).fetchone() is not None

    def list_pending_deletions(self) -> list[tuple[int, str]]:
        """List the archive files that must be deleted, as (source, file)."""
        query = "SELECT source, file FROM archived WHERE size = ?"
        return self._db.execute(query, (PENDING_DELETION,)).fetchall()

    def mark_deleted(self, sources: Iterable[int]) -> None:
        """Record that the archive files of these sources are deleted."""
        self._db.executemany(
            f"UPDATE archived SET file = '', size = {UNKNOWN_SIZE} WHERE source = ?",
            [(source,) for source in sources],
        )

    def list_spills(self, source: int, after: int) -> list[tuple[str, str]]:
        """List results that the agent stored in separate files, as (metadata, text).

        Only results placed after the placement `after` are listed; the metadata is
        JSON.
        """
        rows = self._db.execute(
            "SELECT r.metadata, r.spilled FROM feed f JOIN placement p "
            "ON p.session = f.session AND p.source = f.source AND p.id > ? "
            "JOIN record r ON r.entry = p.entry AND r.is_current "
            "WHERE f.source = ? AND r.type = 'tool_result' AND r.spilled <> '' "
            "ORDER BY p.id",
            (after, source),
        )
        return rows.fetchall()

    def get_newest_placement(self) -> int:
        """Return the id of the newest placement in the store, or 0."""
        query = "SELECT ifnull(max(id), 0) FROM placement"
        return int(fetch_value(self._db, query))

    def save(self, archive_cursor: ArchiveCursor) -> None:
        """Save how far a source is archived."""
        self._db.execute(
            make_insert("archived", _ARCHIVE_COLUMNS, "INSERT OR REPLACE"),
            structs.astuple(archive_cursor),
        )

    def iter_files(self) -> Iterator[ArchivedFile]:
        """Yield the archive files whose size is known."""
        rows = self._db.execute(
            "SELECT a.source, a.file, a.size, a.mtime_ns, a.verified_us > 0, o.is_gone "
            "FROM archived a JOIN source o ON o.id = a.source WHERE a.size >= 0"
        )
        for source, file, size, mtime_ns, is_verified, is_gone in rows:
            yield ArchivedFile(
                source, file, size, mtime_ns, bool(is_verified), bool(is_gone)
            )

    def list_unverified(self, verified_before_us: int) -> list[tuple[int, str]]:
        """List archive files to verify as (source, file), longest unverified first.

        Omit files that were verified since `verified_before_us`, or will be deleted.
        """
        rows = self._db.execute(
            "SELECT source, file FROM archived WHERE file <> '' AND size <> ? "
            "AND verified_us < ? ORDER BY verified_us, source",
            (PENDING_DELETION, verified_before_us),
        )
        return rows.fetchall()

    def mark_unverified(self, source: int) -> None:
        """Record that the archive file must be verified, because it has changed."""
        self._db.execute(
            "UPDATE archived SET verified_us = 0 WHERE source = ?", (source,)
        )

    def mark_all_unverified(self) -> None:
        """Record that every archive file must be verified."""
        self._db.execute("UPDATE archived SET verified_us = 0")

    def mark_verified(self, source: int, mtime_ns: int, now_us: int) -> None:
        """Record that the archive file was verified, with its modification time."""
        self._db.execute(
            "UPDATE archived SET mtime_ns = ?, verified_us = ? WHERE source = ?",
            (mtime_ns, now_us, source),
        )

    def invalidate(self, source: int) -> None:
        """Make the source due again, because its archive file has changed."""
        self._db.execute(
            f"UPDATE archived SET offset = -1, size = {UNKNOWN_SIZE}, newest = 0, "
            "verified_us = 0 WHERE source = ?",
            (source,),
        )

    def is_taken(self, file: str, source: int) -> bool:
        """Return whether an archive file belongs to a source other than `source`."""
        query = "SELECT 1 FROM archived WHERE file = ? AND source <> ?"
        return self._db.execute(query, (file, source)).fetchone() is not None

    def find_source_id(self, agent: str, path: bytes) -> int:
        """Return the row id of a source, or 0."""
        query = "SELECT id FROM source WHERE agent = ? AND path = ?"
        return int(fetch_value(self._db, query, (agent, path), default=0))


def clamp_checkpoints(db: sqlite3.Connection) -> None:
    """Lower checkpoints to the newest placement, because deleted ids are reused."""
    newest = "(SELECT ifnull(max(id), 0) FROM placement)"
    db.execute(f"UPDATE archived SET newest = min(newest, {newest})")
    db.execute(
        f"UPDATE meta SET value = CAST({newest} AS TEXT) WHERE "
        f"key = '{_FEED_CHECKPOINT_KEY}' AND CAST(value AS INTEGER) > {newest}"
    )
