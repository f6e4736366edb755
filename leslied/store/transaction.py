"""The work of one commit: name, deduplicate, place, sum up, index.

Rows are gathered first and written in bulk; what already stands in the store is asked
for in a few queries, so the cost follows the entries, never the size of the store.
"""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from leslied.model.decoded_chunk import PreparedRecord
from leslied.model.record import Usage, make_record_id
from leslied.model.source import Noise
from leslied.points import reach
from leslied.store.rows import (
    RECORD_COLUMNS,
    ask,
    digest_record,
    pack_record,
    pack_usage,
    to_us,
    unpack_usage,
)
from leslied.store.sources import SourceRows
from leslied.store.tallies import Tallies
from leslied.store.text import index_text
from leslied.store.tombstones import PRUNED, Tombstones
from leslied.store.usage import UsageRows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from leslied.model.decoded_chunk import DecodedChunk, DecodedEntry
    from leslied.model.record import Record
    from leslied.store.fold import Tally


class _Known(NamedTuple):
    """An entry the store holds: its number and its versions by digest."""

    entry: int
    versions: dict[bytes, int]


class _Item(NamedTuple):
    """A record on its way in."""

    record: Record
    groundwork: PreparedRecord
    entry_id: bytes
    source: int
    generation: int
    offset: int
    length: int
    decoder_version: int


class Transaction:
    """Gathers readings, then writes them; the caller begins and commits."""

    def __init__(self, db: sqlite3.Connection, observed_us: int) -> None:
        self._db = db
        self._observed_us = observed_us
        self._sources = SourceRows(db)
        self._tallies = Tallies(db)
        self._usage = UsageRows(db)
        self._tombstones = Tombstones(db)
        self._items: list[_Item] = []
        self._known: dict[bytes, _Known] = {}
        self._current: dict[int, int] = {}
        self._placed: set[tuple[int, int]] = set()
        self._new_names: set[bytes] = set()
        self._usages: dict[int, Usage] = {}
        self._more_usage: dict[int, Usage] = {}
        self._records: list[tuple[Any, ...]] = []
        self._texts: list[tuple[int, str]] = []
        self._placements: list[tuple[Any, ...]] = []
        self._switched: dict[int, int] = {}
        self._unit_starts: list[tuple[int, int, int, int]] = []

    def add(self, reading: DecodedChunk) -> None:
        """The reading's records are named; its cursor, noise and rejects are saved."""
        source = self._sources.save(reading)
        generation = reading.cursor.generation
        before = len(self._items)
        for entry in reading.entries:
            nth = self._sources.count_line(source, entry) if entry.line_digest else 0
            groundwork = entry.prepared or map(prepare, entry.records)
            items = [
                _Item(
                    record,
                    ground,
                    _name(record, entry, nth),
                    source,
                    generation,
                    entry.offset,
                    entry.length,
                    reading.decoder_version,
                )
                for record, ground in zip(entry.records, groundwork, strict=True)
            ]
            self._items += self._leave_pruned(items) if self._tombstones else items
        is_all_pruned = len(self._items) == before and any(
            entry.records for entry in reading.entries
        )
        if is_all_pruned:
            # What made no sense among pruned entries was no more wanted than they.
            self._sources.silence(source, reading)

    def _leave_pruned(self, items: list[_Item]) -> list[_Item]:
        """What nobody wanted to be rid of; an entry that is all pruned is noise."""
        wanted = [
            item
            for item in items
            if not self._tombstones.has(item.record.session, item.entry_id)
        ]
        if items and not wanted:
            noise = Noise(items[0].offset, items[0].length, PRUNED)
            self._sources.add_noise(items[0].source, items[0].generation, noise)
        return wanted

    def finish(self) -> tuple[int, int]:
        """Everything gathered is written; says how many records and placements."""
        self._ask_known()
        self._record_ids = _numbers(self._db, "record")
        self._placement_ids = _numbers(self._db, "placement")
        for item in self._items:
            tally = self._tallies.of(item.record.session)
            tally.seen_us = self._observed_us
            entry, is_news = self._keep(item)
            self._place(item, tally, entry, is_news=is_news)
        self._write()
        return len(self._records), len(self._placements)

    def _keep(self, item: _Item) -> tuple[int, bool]:
        """The entry's number, and whether it now says something else than before."""
        record, digest = item.record, item.groundwork.digest
        known = self._known.get(item.entry_id)
        if known is None:
            number = next(self._record_ids)
            self._known[item.entry_id] = _Known(number, {digest: number})
            self._current[number] = number
            self._gather(item, number, number)
            return number, True
        if record.is_repeat:
            return known.entry, False
        version = known.versions.get(digest)
        if version is None:
            version = known.versions[digest] = next(self._record_ids)
            self._gather(item, version, known.entry)
        elif record.usage:
            self._raise_usage(version, record.usage)
        is_other = self._current[known.entry] != version
        if is_other:
            self._current[known.entry] = self._switched[known.entry] = version
        return known.entry, is_other

    def _raise_usage(self, number: int, usage: Usage) -> None:
        """A fork's copy may have its tokens zeroed: the largest stand."""
        known = self._usages.get(number, Usage())
        largest = known.max(usage)
        if largest != known:
            self._usages[number] = self._more_usage[number] = largest

    def _gather(self, item: _Item, number: int, entry: int) -> None:
        packed = pack_record(item.record, self._observed_us, item.decoder_version)
        digest, words = structs.astuple(item.groundwork)
        if item.record.usage:
            self._usages[number] = item.record.usage
        self._records.append((number, entry, item.entry_id, digest, *packed))
        if words:
            self._texts.append((number, words))

    def _place(self, item: _Item, tally: Tally, entry: int, *, is_news: bool) -> None:
        record = item.record
        if record.usage:
            self._usage.add(record, item.entry_id, tally.id)
        if record.metadata.get("kind") == "title" and record.metadata.get("leaf"):
            self._tallies.title_elsewhere(record)
        if (entry, tally.id) not in self._placed:
            self._place_first(item, tally, entry)
        elif is_news and record.metadata.get("kind") == "subagent_linked":
            tally.add(record, None, 0)

    def _place_first(self, item: _Item, tally: Tally, entry: int) -> None:
        number = next(self._placement_ids)
        created = item.record.created_at
        created_us = to_us(created) if created else None
        starts = tally.add(item.record, created_us, number)
        if starts and starts != number:
            self._unit_starts.append((tally.units, tally.id, starts, number))
        self._placed.add((entry, tally.id))
        self._new_names.add(item.entry_id)
        where = (item.source, item.generation, item.offset, item.length)
        self._placements.append(
            (number, tally.id, entry, tally.units, *where, int(item.record.is_copy))
        )

    def _ask_known(self) -> None:
        """What the store already holds of the gathered entries, and where."""
        names = {item.entry_id for item in self._items}
        columns = "entry_id, entry, digest, id, is_current, usage"
        found: set[int] = set()
        for name, entry, digest, number, is_current, usage in ask(
            self._db, f"SELECT {columns} FROM record WHERE entry_id", names
        ):
            known = self._known.setdefault(name, _Known(entry, {}))
            known.versions[digest] = number
            if usage:
                self._usages[number] = unpack_usage(usage)
            if is_current:
                self._current[entry] = number
            found.add(entry)
        query = "SELECT entry, session FROM placement WHERE entry"
        self._placed.update(ask(self._db, query, found))

    def _write(self) -> None:
        write = self._db.executemany
        marks = ", ".join("?" * (4 + RECORD_COLUMNS.count(",") + 1))
        write(
            f"INSERT INTO record (id, entry, entry_id, digest, {RECORD_COLUMNS}) "
            f"VALUES ({marks})",
            self._records,
        )
        write("INSERT INTO record_text (rowid, text) VALUES (?, ?)", self._texts)
        write(
            "INSERT INTO placement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._placements
        )
        write(
            "UPDATE record SET is_current = (id = ?) WHERE entry = ?",
            [(version, entry) for entry, version in self._switched.items()],
        )
        write(
            "UPDATE record SET usage = ? WHERE id = ?",
            [(pack_usage(usage), number) for number, usage in self._more_usage.items()],
        )
        write(
            "UPDATE placement SET unit = ? WHERE session = ? AND id BETWEEN ? AND ?",
            self._unit_starts,
        )
        reach("commit.half")
        self._sources.write()
        self._usage.write()
        self._tallies.write(self._new_names)
        self._open_again()

    def _open_again(self) -> None:
        """Units that now say something else are due to be read and written again."""
        entries = [(entry,) for entry in self._switched]
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


def prepare(record: Record) -> PreparedRecord:
    """What can be worked out of the record alone."""
    return PreparedRecord(digest_record(record), index_text(record))


def _name(record: Record, entry: DecodedEntry, nth: int) -> bytes:
    """The record's id: from the log's own, else from the line and its occurrence."""
    agent, session_id, source = record.session
    if record.native_id:
        return make_record_id(agent, record.native_id, record.block, record.scope)
    line = hashlib.blake2b(entry.line_digest, digest_size=16).hexdigest()
    scope = f"{session_id}\0{source}"
    return make_record_id(agent, f"{line}:{nth}", record.block, scope)


def _numbers(db: sqlite3.Connection, table: str) -> Iterator[int]:
    """Free row numbers of a table that only this process writes."""
    (last,) = db.execute(f"SELECT max(id) FROM {table}").fetchone()
    return count((last or 0) + 1)
