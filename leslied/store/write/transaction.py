"""One commit: assign ids, skip repeated records, place and index the others.

Rows are gathered first and written in bulk. Existing entries are looked up in a few
queries, so the cost depends on the number of new entries, not on the store's size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.failpoints import failpoint
from leslied.model.source import Noise
from leslied.sessions.rewinds import list_changed, list_rewound
from leslied.store.columns import is_context
from leslied.store.ledgers.transcripts import TranscriptLedger
from leslied.store.sql import make_insert, select_in_batches
from leslied.store.write.record_versions import (
    RecordVersions,
    iter_free_ids,
    make_pending_records,
)
from leslied.store.write.session_fold import SessionFold
from leslied.store.write.session_rows import SessionRows
from leslied.store.write.source_rows import SourceRows
from leslied.store.write.tombstones import PRUNED, Tombstones
from leslied.store.write.usage_rows import UsageRows

if TYPE_CHECKING:
    import sqlite3

    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.store.forgotten import Forgotten
    from leslied.store.write.record_versions import PendingRecord
    from leslied.store.write.session_rows import SessionRow
    from leslied.store.write.text_indexer import TextIndexer


_LOCATION_COLUMNS = ("source", "generation", "offset", "length")
_INSERT_PLACEMENT = make_insert(
    "placement", ("id", "session", "entry", "unit", *_LOCATION_COLUMNS, "is_copy")
)


class Transaction:
    """Gather decoded chunks, then write them; the caller begins and commits."""

    def __init__(
        self,
        db: sqlite3.Connection,
        observed_us: int,
        forgotten: Forgotten | None = None,
        indexer: TextIndexer | None = None,
    ) -> None:
        """Prepare a commit.

        Without an indexer, `finish` indexes the texts; with one, `send_texts` sends
        them to it.
        """
        self._db = db
        self._observed_us = observed_us
        self._sources = SourceRows(db)
        self._sessions = SessionRows(db)
        self._usage = UsageRows(db)
        self._tombstones = Tombstones(db, forgotten)
        self.forgotten_ids: set[bytes] = set()
        """Ids of entries that a forgotten session added; forks must not repeat them."""
        self._indexer = indexer
        self._versions = RecordVersions(db, observed_us, has_indexer=bool(indexer))
        self._pending: list[PendingRecord] = []
        self._placed_entries: set[tuple[int, int]] = set()
        """(entry number, session) of placements, stored or added here."""
        self._newly_placed_ids: set[bytes] = set()
        """Ids of entries, new or not, that this transaction places in a session."""
        self._placement_rows: list[tuple[Any, ...]] = []
        self._placement_moves: list[tuple[int, int, int, int]] = []
        """(unit, session, first placement, last placement) to move into the unit."""
        self._folds: dict[int, SessionFold] = {}
        """The sessions that get new placements, by row id."""

    def add(self, chunk: DecodedChunk) -> None:
        """Save the chunk's cursor, and gather its records, noise and rejections."""
        source = self._sources.save(chunk)
        pending_before = len(self._pending)
        for entry in chunk.entries:
            occurrence = self._sources.count_occurrence(source, entry)
            pending = make_pending_records(chunk, entry, source, occurrence)
            self._pending += self._drop_pruned(pending) if self._tombstones else pending
        is_all_pruned = len(self._pending) == pending_before and any(
            entry.records for entry in chunk.entries
        )
        discarded = [
            each
            for each in chunk.rejected
            # Rejected bytes between pruned entries belong to the pruned session too.
            if is_all_pruned
            or self._tombstones.is_rejection_forgotten(source, each.digest)
        ]
        if discarded:
            self._sources.discard_rejected(source, chunk.cursor.generation, discarded)

    def _drop_pruned(self, pending: list[PendingRecord]) -> list[PendingRecord]:
        """Return the records that have no tombstone; if any has one, add noise.

        All records in `pending` come from the same entry of a source.
        """
        remaining = [
            item
            for item in pending
            if not self._tombstones.has_record(item.record, item.entry_id)
        ]
        self.forgotten_ids.update(
            item.entry_id
            for item in pending
            if self._tombstones.is_forgotten(item.record.session)
            and not is_context(item.record)
        )
        if len(remaining) < len(pending):
            first, *_ = pending
            noise = Noise(first.offset, first.length, PRUNED)
            self._sources.add_noise(first.source, first.generation, noise)
        return remaining

    def finish(self) -> tuple[int, int]:
        """Write the gathered rows; return the numbers of new records and placements."""
        self._load_existing()
        self._placement_ids = iter_free_ids(self._db, "placement")
        for item in self._pending:
            row = self._sessions.get(item.record.session)
            row.seen_us = self._observed_us
            entry_number, is_changed = self._versions.add(item)
            self._place(item, row, entry_number, is_changed=is_changed)
        self._write()
        return self._versions.new_count, len(self._placement_rows)

    def send_texts(self) -> None:
        """Send the texts of new records to the indexer, after the commit."""
        if self._indexer:
            self._indexer.add(self._versions.text_rows)

    def _place(
        self,
        item: PendingRecord,
        row: SessionRow,
        entry_number: int,
        *,
        is_changed: bool,
    ) -> None:
        """Place the record in its session, unless its entry is there; add its usage."""
        record = item.record
        if record.usage:
            self._usage.add(record, item.entry_id, row.id)
        if record.metadata.get("kind") == "title" and record.metadata.get("leaf"):
            self._sessions.add_leaf_title(record)
        if (entry_number, row.id) not in self._placed_entries:
            self._add_placement(item, row, entry_number)
        elif is_changed and record.metadata.get("kind") == "subagent_linked":
            # A new version of a link replaces what is stored about the parent.
            row.add_record(record, None, 0)
            row.is_dirty = 1

    def _add_placement(
        self, item: PendingRecord, row: SessionRow, entry_number: int
    ) -> None:
        placement = next(self._placement_ids)
        unit, moved_from = self._get_fold(row).add(
            item.record, item.prepared.created_us, placement
        )
        row.is_dirty = 1
        if moved_from:
            self._placement_moves.append((row.units, row.id, moved_from, placement))
        self._placed_entries.add((entry_number, row.id))
        self._newly_placed_ids.add(item.entry_id)
        location = (item.source, item.generation, item.offset, item.length)
        is_copy = int(item.record.is_copy)
        self._placement_rows.append(
            (placement, row.id, entry_number, unit, *location, is_copy)
        )

    def _get_fold(self, row: SessionRow) -> SessionFold:
        if row.id not in self._folds:
            self._folds[row.id] = SessionFold(row, self._db)
        return self._folds[row.id]

    def _load_existing(self) -> None:
        """Load versions and placements of the gathered entries from the store."""
        numbers = self._versions.load({item.entry_id for item in self._pending})
        query = "SELECT entry, session FROM placement WHERE entry"
        self._placed_entries.update(select_in_batches(self._db, query, numbers))

    def _write(self) -> None:
        executemany = self._db.executemany
        self._versions.write()
        executemany(_INSERT_PLACEMENT, self._placement_rows)
        executemany(
            "UPDATE placement SET unit = ?1 "
            "WHERE session = ?2 AND unit = ?1 - 1 AND id BETWEEN ?3 AND ?4",
            self._placement_moves,
        )
        failpoint("commit.half")
        self._sources.write()
        self._usage.write()
        self._sessions.write(self._newly_placed_ids)
        self._mark_changed_units_due()
        self._mark_rewound_units_due()

    def _mark_rewound_units_due(self) -> None:
        """Mark as due the units that became rewound, or are no longer rewound."""
        ledger = TranscriptLedger(self._db)
        for fold in self._folds.values():
            row, before = fold.row, fold.rewound_before
            after = list_rewound(row.forks, row.units)
            if before != after:
                ledger.mark_due(row.id, list_changed(before, after))

    def _mark_changed_units_due(self) -> None:
        """Mark units with a changed entry as due for writing and indexing."""
        # `newest` is the last placement that was written or indexed. Lowering it makes
        # the placements after it due again.
        entries = [(number,) for number in self._versions.changes]
        self._db.executemany(
            "UPDATE transcript SET newest = min(newest, p.id - 1) FROM placement p "
            "WHERE p.entry = ? AND p.session = transcript.session "
            "AND p.unit = transcript.unit",
            entries,
        )
        self._db.executemany(
            "UPDATE touched SET newest = min(newest, p.id - 1) FROM placement p "
            "WHERE p.entry = ? AND p.session = touched.session",
            entries,
        )
        self._db.executemany(
            "UPDATE session SET is_dirty = 1 "
            "WHERE id IN (SELECT session FROM placement WHERE entry = ?)",
            entries,
        )
