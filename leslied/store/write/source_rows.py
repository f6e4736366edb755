"""Source rows of one transaction: cursors, noise, rejections, line occurrences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from leslied.model.source import Noise
from leslied.store.columns import pack_path
from leslied.store.cursors import CURSOR_COLUMNS, pack_cursor
from leslied.store.sql import fetch_value, make_insert
from leslied.store.write.tombstones import PRUNED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
    from leslied.model.source import Cursor, Rejection

_ASSIGNMENTS = ", ".join(f"{name} = excluded.{name}" for name in CURSOR_COLUMNS)
_VERSION_COLUMNS = ("decoder_version", "tried_version")
# A source keeps the version of the decoder that read it first, even when a newer one
# reads later entries: the older entries must still be decoded again.
_KEEP_VERSIONS = ", ".join(
    f"{name} = CASE {name} WHEN 0 THEN excluded.{name} ELSE {name} END"
    for name in _VERSION_COLUMNS
)
_SAVE_CURSOR = (
    f"{make_insert('source', ('agent', 'path', *_VERSION_COLUMNS, *CURSOR_COLUMNS))} "
    f"ON CONFLICT DO UPDATE SET {_ASSIGNMENTS}, {_KEEP_VERSIONS}, "
    "trouble = '', is_gone = 0 RETURNING id"
)


class _NoiseRow(NamedTuple):
    """Row of the table `noise`; the columns have the same names."""

    source: int
    generation: int
    offset: int
    length: int
    kind: str


class _RejectedRow(NamedTuple):
    """Row of the table `rejected`; the columns have the same names."""

    source: int
    generation: int
    offset: int
    length: int
    reason: str
    digest: bytes
    head: bytes
    times: int


class SourceRows:
    """Save cursors and gather noise, rejections and occurrences until `write`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._occurrences: dict[tuple[int, bytes], int] = {}
        self._noise: list[_NoiseRow] = []
        self._rejected: list[_RejectedRow] = []

    def save(self, chunk: DecodedChunk) -> int:
        """Save the cursor and gather noise and rejections; return the source's row id.

        On a new generation, delete the noise, rejections and line counts of the old
        one.
        """
        cursor, path = chunk.cursor, pack_path(chunk.source.path)
        key = (chunk.source.agent, path)
        self._delete_outdated(key, cursor)
        has_entries = cursor.offset > 0 or cursor.finished_size > 0
        version = chunk.decoder_version if has_entries else 0
        (source,) = self._db.execute(
            _SAVE_CURSOR, (*key, version, version, *pack_cursor(cursor))
        ).fetchone()
        self.add_undecoded(source, chunk)
        return int(source)

    def add_undecoded(self, source: int, chunk: DecodedChunk) -> None:
        """Gather the noise and the rejections of a chunk."""
        location = (source, chunk.cursor.generation)
        for noise in chunk.noise:
            self.add_noise(*location, noise)
        self._rejected += [
            _RejectedRow(*location, *structs.astuple(rejection))
            for rejection in chunk.rejected
        ]

    def add_noise(self, source: int, generation: int, noise: Noise) -> None:
        """Gather an entry that was recognized and is not stored as a record."""
        self._noise.append(
            _NoiseRow(source, generation, noise.offset, noise.length, noise.kind)
        )

    def discard_rejected(
        self, source: int, generation: int, rejected: Iterable[Rejection]
    ) -> None:
        """Replace these gathered rejections by noise, so that no content remains."""
        location = (source, generation)
        rejected = list(rejected)
        positions = {(*location, rejection.offset) for rejection in rejected}
        self._rejected = [
            row
            for row in self._rejected
            if (row.source, row.generation, row.offset) not in positions
        ]
        for rejection in rejected:
            self.add_noise(*location, Noise(rejection.offset, rejection.length, PRUNED))

    def count_occurrence(self, source: int, entry: DecodedEntry) -> int:
        """Count the entry's line; return the number of its occurrences until now.

        Occurrences in earlier generations are not counted; this one is. Return 0 for an
        entry whose records have ids of their own.
        """
        if not entry.line_digest:
            return 0
        key = (source, entry.line_digest)
        times = self._occurrences.get(key)
        if times is None:
            query = "SELECT times FROM occurrence WHERE source = ? AND line_digest = ?"
            times = fetch_value(self._db, query, key, default=0)
        # An incomplete line will be read again once it is complete.
        if entry.is_complete:
            self._occurrences[key] = times + 1
        return int(times) + 1

    def write(self) -> None:
        """Write all gathered rows."""
        executemany = self._db.executemany
        executemany(make_insert("noise", _NoiseRow._fields), self._noise)
        executemany(
            make_insert("rejected", _RejectedRow._fields, "INSERT OR REPLACE"),
            self._rejected,
        )
        executemany(
            "INSERT OR REPLACE INTO occurrence (source, line_digest, times) "
            "VALUES (?, ?, ?)",
            [(*key, times) for key, times in self._occurrences.items()],
        )

    def _delete_outdated(self, key: tuple[str, bytes], cursor: Cursor) -> None:
        """Delete noise and rejections that are read again, up to `cursor`.

        `key` has the agent and the path of the source.
        """
        row = self._db.execute(
            "SELECT id, generation, offset, finished FROM source "
            "WHERE agent = ? AND path = ?",
            key,
        ).fetchone()
        if row is None:
            return
        source, generation, offset, finished_size = row
        had_incomplete_line = finished_size >= 0
        has_moved = (offset, finished_size) != (cursor.offset, cursor.finished_size)
        if generation != cursor.generation:
            self.clear(source)
        elif had_incomplete_line and has_moved:
            self._delete_tail(source, offset)

    def _delete_tail(self, source: int, offset: int) -> None:
        """Delete noise and rejections of an incomplete last line that is read again."""
        for table in ("noise", "rejected"):
            self._db.execute(
                f"DELETE FROM {table} WHERE source = ? AND offset >= ?",
                (source, offset),
            )

    def clear(self, source: int) -> None:
        """Delete a source's noise, rejections and line counts, stored or pending."""
        for table in ("noise", "rejected", "occurrence"):
            self._db.execute(f"DELETE FROM {table} WHERE source = ?", (source,))
        self._occurrences = {
            (other, digest): times
            for (other, digest), times in self._occurrences.items()
            if other != source
        }
        self._noise = [row for row in self._noise if row.source != source]
        self._rejected = [row for row in self._rejected if row.source != source]
