"""The work of one commit: assign ids, skip repeated records, place and index others.

Rows are gathered first and written in bulk. Existing entries are looked up in a few
queries, so the cost depends on the number of new entries, not on the store's size.
"""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from leslied.failpoints import failpoint
from leslied.model.decoded_chunk import PreparedRecord
from leslied.model.record import Usage, make_record_id
from leslied.model.source import Noise
from leslied.model.times import to_us
from leslied.store.columns import (
    RECORD_COLUMNS,
    digest_record,
    pack_record,
    pack_usage,
    select_in_batches,
    unpack_usage,
)
from leslied.store.fts_text import extract_index_text
from leslied.store.write.session_rows import SessionRows
from leslied.store.write.source_rows import SourceRows
from leslied.store.write.tombstones import PRUNED, Tombstones
from leslied.store.write.usage_rows import UsageRows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
    from leslied.model.record import Record
    from leslied.store.write.session_rows import SessionRow


class _EntryVersions(NamedTuple):
    """Versions of an entry that is in the store or queued by this transaction."""

    number: int
    """The entry's number, which all of its versions share."""
    record_ids: dict[bytes, int]
    """Record id of each version, by digest."""


class _PendingRecord(NamedTuple):
    """Record to be written, with its id and position in the source."""

    record: Record
    prepared: PreparedRecord
    entry_id: bytes
    source: int
    generation: int
    offset: int
    length: int
    decoder_version: int


class Transaction:
    """Gather decoded chunks, then write them; the caller begins and commits."""

    def __init__(self, db: sqlite3.Connection, observed_us: int) -> None:
        self._db = db
        self._observed_us = observed_us
        self._sources = SourceRows(db)
        self._sessions = SessionRows(db)
        self._usage = UsageRows(db)
        self._tombstones = Tombstones(db)
        self._pending: list[_PendingRecord] = []
        self._entries_by_id: dict[bytes, _EntryVersions] = {}
        self._current_versions: dict[int, int] = {}
        """Record id of the current version, by entry number."""
        self._placed_entries: set[tuple[int, int]] = set()
        """(entry number, session) of placements that exist."""
        self._newly_placed_ids: set[bytes] = set()
        """Ids of entries, new or not, that this transaction places in a session."""
        self._usage_by_record: dict[int, Usage] = {}
        self._usage_updates: dict[int, Usage] = {}
        self._record_rows: list[tuple[Any, ...]] = []
        self._text_rows: list[tuple[int, str]] = []
        self._placement_rows: list[tuple[Any, ...]] = []
        self._version_changes: dict[int, int] = {}
        """Record id of the new current version, by number of the changed entry."""
        self._unit_updates: list[tuple[int, int, int, int]] = []
        """(unit, session, first placement, last placement) to move into the unit."""

    def add(self, chunk: DecodedChunk) -> None:
        """Save the chunk's cursor, and gather its records, noise and rejections."""
        source = self._sources.save(chunk)
        generation = chunk.cursor.generation
        pending_before = len(self._pending)
        for entry in chunk.entries:
            occurrence = (
                self._sources.count_occurrence(source, entry)
                if entry.line_digest
                else 0
            )
            prepared = entry.prepared or map(prepare_record, entry.records)
            pending = [
                _PendingRecord(
                    record,
                    prepared_record,
                    _make_entry_id(record, entry, occurrence),
                    source,
                    generation,
                    entry.offset,
                    entry.length,
                    chunk.decoder_version,
                )
                for record, prepared_record in zip(entry.records, prepared, strict=True)
            ]
            self._pending += self._drop_pruned(pending) if self._tombstones else pending
        is_all_pruned = len(self._pending) == pending_before and any(
            entry.records for entry in chunk.entries
        )
        if is_all_pruned:
            # Rejected bytes between pruned entries belong to the pruned session too.
            self._sources.discard_rejected(source, chunk)

    def _drop_pruned(self, pending: list[_PendingRecord]) -> list[_PendingRecord]:
        """Return an entry's records that are not pruned; if none are left, add noise.

        All records in `pending` come from the same entry of a source.
        """
        remaining = [
            item
            for item in pending
            if not self._tombstones.has(item.record.session, item.entry_id)
        ]
        if pending and not remaining:
            first = pending[0]
            noise = Noise(first.offset, first.length, PRUNED)
            self._sources.add_noise(first.source, first.generation, noise)
        return remaining

    def finish(self) -> tuple[int, int]:
        """Write what was gathered; return the numbers of new records and placements."""
        self._load_existing()
        self._record_ids = _iter_free_ids(self._db, "record")
        self._placement_ids = _iter_free_ids(self._db, "placement")
        for item in self._pending:
            row = self._sessions.get(item.record.session)
            row.seen_us = self._observed_us
            entry_number, is_changed = self._add_version(item)
            self._place(item, row, entry_number, is_changed=is_changed)
        self._write()
        return len(self._record_rows), len(self._placement_rows)

    def _add_version(self, item: _PendingRecord) -> tuple[int, bool]:
        """Queue the record if it is a new entry or a new version of its entry.

        Return the entry's number, and whether its current version changed.
        """
        record, digest = item.record, item.prepared.digest
        versions = self._entries_by_id.get(item.entry_id)
        if versions is None:
            # The number of an entry is the record id of its first version.
            new_id = next(self._record_ids)
            self._entries_by_id[item.entry_id] = _EntryVersions(
                new_id, {digest: new_id}
            )
            self._current_versions[new_id] = new_id
            self._queue_record(item, new_id, new_id)
            return new_id, True
        number = versions.number
        if record.is_repeat:
            return number, False
        record_id = versions.record_ids.get(digest)
        if record_id is None:
            record_id = versions.record_ids[digest] = next(self._record_ids)
            self._queue_record(item, record_id, number)
        elif record.usage:
            self._merge_usage(record_id, record.usage)
        is_changed = self._current_versions[number] != record_id
        if is_changed:
            self._current_versions[number] = record_id
            self._version_changes[number] = record_id
        return number, is_changed

    def _merge_usage(self, record_id: int, usage: Usage) -> None:
        """Store the larger usage, since a fork's copy may have its tokens zeroed."""
        current = self._usage_by_record.get(record_id, Usage())
        largest = current.max(usage)
        if largest != current:
            self._usage_by_record[record_id] = self._usage_updates[record_id] = largest

    def _queue_record(
        self, item: _PendingRecord, record_id: int, entry_number: int
    ) -> None:
        packed = pack_record(item.record, self._observed_us, item.decoder_version)
        digest, index_text = structs.astuple(item.prepared)
        if item.record.usage:
            self._usage_by_record[record_id] = item.record.usage
        self._record_rows.append(
            (record_id, entry_number, item.entry_id, digest, *packed)
        )
        if index_text:
            self._text_rows.append((record_id, index_text))

    def _place(
        self,
        item: _PendingRecord,
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
            # A new version of a link replaces what the session stores of its parent.
            row.add_record(record, None, 0)
            row.is_dirty = 1

    def _add_placement(
        self, item: _PendingRecord, row: SessionRow, entry_number: int
    ) -> None:
        placement = next(self._placement_ids)
        created = item.record.created_at
        created_us = to_us(created) if created else None
        unit_start = row.add_record(item.record, created_us, placement)
        row.is_dirty = 1
        # A command starts a unit only once the agent replies, so that the placements
        # since the command have to be moved into the new unit.
        if unit_start and unit_start != placement:
            self._unit_updates.append((row.units, row.id, unit_start, placement))
        self._placed_entries.add((entry_number, row.id))
        self._newly_placed_ids.add(item.entry_id)
        location = (item.source, item.generation, item.offset, item.length)
        is_copy = int(item.record.is_copy)
        self._placement_rows.append(
            (placement, row.id, entry_number, row.units, *location, is_copy)
        )

    def _load_existing(self) -> None:
        """Load versions and placements of the gathered entries from the store."""
        entry_ids = {item.entry_id for item in self._pending}
        columns = "entry_id, entry, digest, id, is_current, usage"
        rows = select_in_batches(
            self._db, f"SELECT {columns} FROM record WHERE entry_id", entry_ids
        )
        numbers: set[int] = set()
        for entry_id, number, digest, record_id, is_current, usage in rows:
            versions = self._entries_by_id.setdefault(
                entry_id, _EntryVersions(number, {})
            )
            versions.record_ids[digest] = record_id
            if usage:
                self._usage_by_record[record_id] = unpack_usage(usage)
            if is_current:
                self._current_versions[number] = record_id
            numbers.add(number)
        query = "SELECT entry, session FROM placement WHERE entry"
        self._placed_entries.update(select_in_batches(self._db, query, numbers))

    def _write(self) -> None:
        executemany = self._db.executemany
        columns = f"id, entry, entry_id, digest, {RECORD_COLUMNS}"
        placeholders = ", ".join("?" * len(columns.split(", ")))
        executemany(
            f"INSERT INTO record ({columns}) VALUES ({placeholders})",
            self._record_rows,
        )
        executemany(
            "INSERT INTO record_text (rowid, text) VALUES (?, ?)", self._text_rows
        )
        executemany(
            "INSERT INTO placement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self._placement_rows,
        )
        executemany(
            "UPDATE record SET is_current = (id = ?) WHERE entry = ?",
            [
                (record_id, number)
                for number, record_id in self._version_changes.items()
            ],
        )
        executemany(
            "UPDATE record SET usage = ? WHERE id = ?",
            [
                (pack_usage(usage), record_id)
                for record_id, usage in self._usage_updates.items()
            ],
        )
        executemany(
            "UPDATE placement SET unit = ? WHERE session = ? AND id BETWEEN ? AND ?",
            self._unit_updates,
        )
        failpoint("commit.half")
        self._sources.write()
        self._usage.write()
        self._sessions.write(self._newly_placed_ids)
        self._mark_changed_units_due()

    def _mark_changed_units_due(self) -> None:
        """Mark units in which an entry changed as due for writing and indexing."""
        # `newest` is the last placement that was written or indexed. Lowering it makes
        # the placements after it due again.
        entries = [(number,) for number in self._version_changes]
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


def prepare_record(record: Record) -> PreparedRecord:
    """Compute what depends on the record alone: its digest and its index text."""
    return PreparedRecord(digest_record(record), extract_index_text(record))


def _make_entry_id(record: Record, entry: DecodedEntry, occurrence: int) -> bytes:
    """Derive the entry id from the id in the log, else from line and occurrence."""
    agent, session_id, source = record.session
    if record.native_id:
        return make_record_id(agent, record.native_id, record.block, record.scope)
    line_hash = hashlib.blake2b(entry.line_digest, digest_size=16).hexdigest()
    scope = f"{session_id}\0{source}"
    return make_record_id(agent, f"{line_hash}:{occurrence}", record.block, scope)


def _iter_free_ids(db: sqlite3.Connection, table: str) -> Iterator[int]:
    """Return an iterator of unused row ids; only this process adds rows."""
    (last_id,) = db.execute(f"SELECT max(id) FROM {table}").fetchone()
    return count((last_id or 0) + 1)
