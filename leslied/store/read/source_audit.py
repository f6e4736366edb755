"""Compare the decoded entries of a source with what the store has of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from leslied.model.log_proof import EntryVerdict
from leslied.model.source import EXCLUDED
from leslied.store.connection import translate_sqlite_errors
from leslied.store.cursors import CURSOR_COLUMNS, unpack_cursor
from leslied.store.forgotten import Forgotten
from leslied.store.sql import fetch_column, fetch_value, select_in_batches
from leslied.store.write.record_versions import make_pending_records
from leslied.store.write.sanitize import sanitize_chunk
from leslied.store.write.tombstones import PRUNED, Tombstones

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
    from leslied.model.source import Cursor, Noise, Rejection
    from leslied.store.write.record_versions import PendingRecord

_NO_RECORD = "the store has no record of it"
_OTHER_CONTENT = "the store has another content of it"
_NOT_CURRENT = "the store has no current version of it"
_NO_SESSION = "its record is in no session"
_NO_NOISE = "the store did not count it as noise"
_NO_REJECTION = "the store did not count it as rejected"


class StoredSource(NamedTuple):
    """What the store knows about a source."""

    cursor: Cursor
    decoder_version: int
    """The version that read its first entries; 0 if none was read."""
    trouble: str
    """Why it was not read; "" if it was."""


class _StoredEntry(NamedTuple):
    """An entry in the store, with the digests of all of its versions."""

    number: int
    digests: set[bytes]
    is_current: bool = False


class AuditQueries:
    """Queries that compare logs with the store."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def find_source(self, agent: str, path: bytes) -> StoredSource | None:
        """Return what the store knows about a source, or None."""
        columns = f"decoder_version, trouble, {', '.join(CURSOR_COLUMNS)}"
        row = self._db.execute(
            f"SELECT {columns} FROM source WHERE agent = ? AND path = ?", (agent, path)
        ).fetchone()
        if row is None:
            return None
        version, trouble, *cursor = row
        return StoredSource(unpack_cursor(cursor), version, trouble)

    @translate_sqlite_errors
    def count_gone(self, agent: str) -> int:
        """Return the number of sources that no longer exist."""
        query = "SELECT count(*) FROM source WHERE agent = ? AND is_gone"
        (count,) = self._db.execute(query, (agent,)).fetchone()
        return int(count)

    def start_audit(
        self, agent: str, path: bytes, *, has_stable_positions: bool, is_masked: bool
    ) -> SourceAudit:
        """Start the audit of one source. It needs all entries from the beginning.

        `has_stable_positions` says that an entry is at the same offset in each read.
        With `is_masked`, secrets may have been stored in another form.
        """
        return SourceAudit(
            self._db,
            Forgotten(self.path),
            (agent, path),
            has_stable_positions=has_stable_positions,
            is_masked=is_masked,
        )


class SourceAudit:
    """Comparison of one source with the store, from its first entry to its last."""

    def __init__(
        self,
        db: sqlite3.Connection,
        forgotten: Forgotten,
        source: tuple[str, bytes],
        *,
        has_stable_positions: bool,
        is_masked: bool,
    ) -> None:
        self._db = db
        self._tombstones = Tombstones(db, forgotten)
        self._has_stable_positions = has_stable_positions
        self._is_masked = is_masked
        query = "SELECT id FROM source WHERE agent = ? AND path = ?"
        self._source: int = fetch_value(db, query, source, default=0)
        self._occurrences: Counter[bytes] = Counter()
        self._noise_used: Counter[str] = Counter()
        """How many entries were compared with the stored noise, by kind of noise."""
        self._has_deleted_entries = False
        """Whether entries of this source were pruned or forgotten."""

    @translate_sqlite_errors
    def check(self, chunk: DecodedChunk) -> list[EntryVerdict]:
        """Return the verdict on each entry, noise and rejection of the next chunk."""
        occurrences = [self._count_occurrence(entry) for entry in chunk.entries]
        records_by_entry = [
            make_pending_records(chunk, entry, self._source, occurrence)
            for entry, occurrence in zip(chunk.entries, occurrences, strict=True)
        ]
        stored_entries = self._load(
            {item.entry_id for items in records_by_entry for item in items}
        )
        placed_numbers = self._list_placed(stored_entries.values())
        verdicts = []
        for entry, occurrence, items in zip(
            chunk.entries, occurrences, records_by_entry, strict=True
        ):
            verdict = self._judge(entry, items, stored_entries, placed_numbers)
            if verdict.verdict == "missing":
                clean_verdict = self._judge_sanitized(chunk, entry, occurrence)
                verdict = clean_verdict or verdict
            verdicts.append(verdict)
        verdicts += [self._judge_noise(each) for each in chunk.noise]
        verdicts += [self._judge_rejection(each) for each in chunk.rejected]
        return verdicts

    def _count_occurrence(self, entry: DecodedEntry) -> int:
        """Return how often an entry without an id has occurred so far, or 0."""
        if not entry.line_digest:
            return 0
        self._occurrences[entry.line_digest] += 1
        return self._occurrences[entry.line_digest]

    def _judge(
        self,
        entry: DecodedEntry,
        items: Iterable[PendingRecord],
        stored_entries: dict[bytes, _StoredEntry],
        placed_numbers: set[int],
    ) -> EntryVerdict:
        """Return the verdict on an entry that has these records."""
        position = (entry.offset, entry.length)
        is_deleted = False
        for item in items:
            if self._tombstones and self._tombstones.has_record(
                item.record, item.entry_id
            ):
                is_deleted = self._has_deleted_entries = True
                continue
            stored_entry = stored_entries.get(item.entry_id)
            reason = self._find_fault(item, stored_entry, placed_numbers)
            if reason and entry.offset in self._excluded_offsets:
                # The project was excluded when the entry was read.
                return EntryVerdict(*position, "noise")
            if reason:
                return EntryVerdict(*position, "missing", reason)
        return EntryVerdict(*position, "deleted" if is_deleted else "record")

    def _find_fault(
        self,
        item: PendingRecord,
        stored_entry: _StoredEntry | None,
        placed_numbers: set[int],
    ) -> str:
        """Return why a record is not in the store as it should be, or ""."""
        if stored_entry is None:
            return _NO_RECORD
        is_exact = not (item.record.is_repeat or self._is_masked)
        if is_exact and item.prepared.digest not in stored_entry.digests:
            return _OTHER_CONTENT
        if not stored_entry.is_current:
            return _NOT_CURRENT
        return "" if stored_entry.number in placed_numbers else _NO_SESSION

    def _judge_sanitized(
        self, chunk: DecodedChunk, entry: DecodedEntry, occurrence: int
    ) -> EntryVerdict | None:
        """Judge an entry without the lone surrogates that cannot be stored.

        Return None if it has none.
        """
        entry_chunk = replace(chunk, entries=(entry,), noise=(), rejected=())
        (clean_entry,) = sanitize_chunk(entry_chunk).entries
        if structs.replace(entry, prepared=()) == clean_entry:
            return None
        items = make_pending_records(chunk, clean_entry, self._source, occurrence)
        stored_entries = self._load({item.entry_id for item in items})
        placed_numbers = self._list_placed(stored_entries.values())
        return self._judge(entry, items, stored_entries, placed_numbers)

    def _judge_noise(self, noise: Noise) -> EntryVerdict:
        """Return the verdict on an entry that was decoded as noise."""
        position = (noise.offset, noise.length)
        if self._has_stable_positions:
            is_stored = self._has_noise_at(noise.offset)
        else:
            # Rows that changed are read again, at other offsets. So only the numbers of
            # entries of each kind are compared.
            self._noise_used[noise.kind] += 1
            is_stored = self._noise_used[noise.kind] <= self._noise_counts[noise.kind]
        if is_stored:
            return EntryVerdict(*position, "noise")
        if self._has_deleted_entries or self._is_pruned:
            return EntryVerdict(*position, "deleted")
        return EntryVerdict(*position, "missing", _NO_NOISE)

    def _judge_rejection(self, rejection: Rejection) -> EntryVerdict:
        """Return the verdict on an entry that could not be decoded."""
        position = (rejection.offset, rejection.length)
        if self._is_rejected(rejection):
            return EntryVerdict(*position, "rejected")
        if self._has_noise_at(rejection.offset):
            return EntryVerdict(*position, "noise")
        if self._has_deleted_entries or self._is_pruned:
            return EntryVerdict(*position, "deleted")
        return EntryVerdict(*position, "missing", _NO_REJECTION)

    def _is_rejected(self, rejection: Rejection) -> bool:
        """Return whether a rejection of the store covers these bytes."""
        if not self._has_stable_positions:
            return rejection.digest in self._rejected_digests
        # One rejection may stand for several entries.
        index = bisect_right(self._rejected_ranges, (rejection.offset, 2**63)) - 1
        return index >= 0 and rejection.offset < self._rejected_ranges[index][1]

    def _has_noise_at(self, offset: int) -> bool:
        return self._has_stable_positions and offset in self._noise_offsets

    @cached_property
    def _noise_offsets(self) -> set[int]:
        query = "SELECT offset FROM noise WHERE source = ?"
        return set(fetch_column(self._db, query, (self._source,)))

    @cached_property
    def _excluded_offsets(self) -> set[int]:
        """Offsets of entries of excluded projects; none if offsets are not stable."""
        if not self._has_stable_positions:
            return set()
        query = "SELECT offset FROM noise WHERE source = ? AND kind = ?"
        return set(fetch_column(self._db, query, (self._source, EXCLUDED)))

    @cached_property
    def _noise_counts(self) -> Counter[str]:
        query = "SELECT kind, count(*) FROM noise WHERE source = ? GROUP BY kind"
        return Counter(dict(self._db.execute(query, (self._source,)).fetchall()))

    @cached_property
    def _is_pruned(self) -> bool:
        return PRUNED in self._noise_counts

    @cached_property
    def _rejected_ranges(self) -> list[tuple[int, int]]:
        query = (
            "SELECT offset, offset + max(length, 1) FROM rejected "
            "WHERE source = ? ORDER BY offset"
        )
        return self._db.execute(query, (self._source,)).fetchall()

    @cached_property
    def _rejected_digests(self) -> set[bytes]:
        query = "SELECT digest FROM rejected WHERE source = ?"
        return set(fetch_column(self._db, query, (self._source,)))

    def _load(self, entry_ids: set[bytes]) -> dict[bytes, _StoredEntry]:
        """Return the stored entries with these ids."""
        query = "SELECT entry_id, entry, digest, is_current FROM record WHERE entry_id"
        stored_entries: dict[bytes, _StoredEntry] = {}
        for entry_id, number, digest, is_current in select_in_batches(
            self._db, query, entry_ids
        ):
            entry = stored_entries.get(entry_id) or _StoredEntry(number, set())
            entry.digests.add(digest)
            is_any_current = entry.is_current or bool(is_current)
            stored_entries[entry_id] = entry._replace(is_current=is_any_current)
        return stored_entries

    def _list_placed(self, entries: Iterable[_StoredEntry]) -> set[int]:
        """Return the numbers of those entries that are in any session."""
        query = "SELECT DISTINCT entry FROM placement WHERE entry"
        numbers = {entry.number for entry in entries}
        rows: Iterator[tuple[int]] = select_in_batches(self._db, query, numbers)
        return {number for (number,) in rows}
