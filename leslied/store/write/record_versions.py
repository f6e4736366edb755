"""Versions of entries: which exist, which is current, and the rows of new ones."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.model.decoded_chunk import PreparedRecord
from leslied.model.record import Usage, make_record_id
from leslied.store.columns import (
    RECORD_COLUMNS,
    convert_fields,
    digest_record,
    pack_record,
    pack_usage,
    unpack_usage,
)
from leslied.store.fts_text import extract_index_text
from leslied.store.sql import make_insert, select_in_batches
from leslied.store.write.long_texts import may_be_long, take_long_texts
from leslied.store.write.text_indexer import INSERT_TEXT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
    from leslied.model.record import Record
    from leslied.store.write.long_texts import LongText


_INSERT_RECORD = make_insert(
    "record", ("id", "entry", "entry_id", "digest", *RECORD_COLUMNS)
)


class PendingRecord(NamedTuple):
    """Record to be written, with its id and position in the source."""

    record: Record
    prepared: PreparedRecord
    entry_id: bytes
    source: int
    generation: int
    offset: int
    length: int
    decoder_version: int

    @property
    def search_text(self) -> str:
        """The text for the full-text index."""
        text = self.prepared.search_text
        return self.record.content if text is None else text


class _EntryVersions(NamedTuple):
    """Versions of an entry that is in the store or queued by this transaction."""

    number: int
    """The entry's number, which all of its versions share."""
    record_ids: dict[bytes, int]
    """Record id of each version, by digest."""


class RecordVersions:
    """Add records as versions of their entries; `write` inserts the queued ones."""

    def __init__(
        self, db: sqlite3.Connection, observed_us: int, *, has_indexer: bool = False
    ) -> None:
        """Prepare to add records; with `has_indexer`, another process indexes texts."""
        self._db = db
        self._has_indexer = has_indexer
        self._observed_us = observed_us
        self._new_ids = iter_free_ids(db, "record")
        self._entries_by_id: dict[bytes, _EntryVersions] = {}
        self._current_versions: dict[int, int] = {}
        """Record id of the current version, by entry number."""
        self._usage_by_record: dict[int, Usage] = {}
        self._usage_updates: dict[int, Usage] = {}
        self._record_rows: list[tuple[Any, ...]] = []
        self._long_texts: list[LongText] = []
        self.text_rows: list[tuple[int, str]] = []
        """Record ids and texts for the index."""
        self.changes: dict[int, int] = {}
        """Record id of the new current version, by number of the changed entry."""

    @property
    def new_count(self) -> int:
        """The number of queued records."""
        return len(self._record_rows)

    def load(self, entry_ids: Iterable[bytes]) -> set[int]:
        """Load the versions of these entries; return the numbers of the entries."""
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
        return numbers

    def add(self, item: PendingRecord) -> tuple[int, bool]:
        """Queue the record if it is a new entry or a new version of its entry.

        Return the entry's number, and whether its current version changed.
        """
        digest = item.prepared.digest
        versions = self._entries_by_id.get(item.entry_id)
        if versions is None:
            # The number of an entry is the record id of its first version.
            new_id = next(self._new_ids)
            self._entries_by_id[item.entry_id] = _EntryVersions(
                new_id, {digest: new_id}
            )
            self._current_versions[new_id] = new_id
            self._queue(item, new_id, new_id)
            return new_id, True
        number = versions.number
        if item.record.is_repeat and self._has_original(item, number):
            return number, False
        record_id = versions.record_ids.get(digest)
        if record_id is None:
            record_id = versions.record_ids[digest] = next(self._new_ids)
            self._queue(item, record_id, number)
        else:
            self._add_again(item, record_id, number)
        return number, self._set_current(number, record_id)

    def _has_original(self, item: PendingRecord, number: int) -> bool:
        """Return whether the entry has the record that this one repeats."""
        del item  # Only subclasses use it.
        # An entry without a current version was dropped by a later decoder.
        return number in self._current_versions

    def _set_current(self, entry_number: int, record_id: int) -> bool:
        """Make a record the entry's current version; return False if it already was."""
        if self._current_versions.get(entry_number) == record_id:
            return False
        self._current_versions[entry_number] = self.changes[entry_number] = record_id
        return True

    def _add_again(self, item: PendingRecord, record_id: int, number: int) -> None:
        """Merge a record into the version that has the same content."""
        del number  # Only subclasses use it.
        if item.record.usage:
            self._merge_usage(record_id, item.record.usage)

    def _merge_usage(self, record_id: int, usage: Usage) -> None:
        """Store the larger usage, since a fork's copy may have its tokens zeroed."""
        current = self._usage_by_record.get(record_id, Usage())
        largest = current.max(usage)
        if largest != current:
            self._usage_by_record[record_id] = self._usage_updates[record_id] = largest

    def _queue(self, item: PendingRecord, record_id: int, entry_number: int) -> None:
        prepared, record = item.prepared, item.record
        if may_be_long(record):
            record, long_texts = take_long_texts(record, record_id)
            self._long_texts += long_texts
        packed = pack_record(record, prepared, self._observed_us, item.decoder_version)
        if item.record.usage:
            self._usage_by_record[record_id] = item.record.usage
        self._record_rows.append(
            (record_id, entry_number, item.entry_id, prepared.digest, *packed)
        )
        if text := item.search_text:
            self.text_rows.append((record_id, text))

    def write(self) -> None:
        """Insert the queued versions; update which are current, and token counts."""
        executemany = self._db.executemany
        executemany(_INSERT_RECORD, self._record_rows)
        for long_text in self._long_texts:
            long_text.write(self._db)
        if not self._has_indexer:
            executemany(INSERT_TEXT, self.text_rows)
        executemany(
            "UPDATE record SET is_current = (id = ?) WHERE entry = ?",
            [(record_id, number) for number, record_id in self.changes.items()],
        )
        executemany(
            "UPDATE record SET usage = ? WHERE id = ?",
            [
                (pack_usage(usage), record_id)
                for record_id, usage in self._usage_updates.items()
            ],
        )


def make_pending_records(
    chunk: DecodedChunk, entry: DecodedEntry, source: int, occurrence: int
) -> list[PendingRecord]:
    """Return the records of an entry with their ids.

    `occurrence` tells entries apart that have no native id and the same bytes.
    """
    prepared = entry.prepared or map(prepare_record, entry.records)
    return [
        PendingRecord(
            record,
            prepared_record,
            _make_entry_id(record, entry, occurrence),
            source,
            chunk.cursor.generation,
            entry.offset,
            entry.length,
            chunk.decoder_version,
        )
        for record, prepared_record in zip(entry.records, prepared, strict=True)
    ]


def prepare_record(record: Record) -> PreparedRecord:
    """Compute the values that depend on nothing but the record."""
    text = extract_index_text(record)
    return PreparedRecord(
        digest_record(record),
        *convert_fields(record),
        None if text == record.content else text,
    )


def _make_entry_id(record: Record, entry: DecodedEntry, occurrence: int) -> bytes:
    """Derive the entry id from the id in the log, else from line and occurrence."""
    agent, session_id, source = record.session
    if record.native_id:
        return make_record_id(agent, record.native_id, record.block, record.scope)
    line_hash = hashlib.blake2b(entry.line_digest, digest_size=16).hexdigest()
    scope = f"{session_id}\0{source}"
    return make_record_id(agent, f"{line_hash}:{occurrence}", record.block, scope)


def iter_free_ids(db: sqlite3.Connection, table: str) -> Iterator[int]:
    """Return an iterator of unused row ids; only this process adds rows."""
    (last_id,) = db.execute(f"SELECT max(id) FROM {table}").fetchone()
    return count((last_id or 0) + 1)
