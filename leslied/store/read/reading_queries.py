"""Queries for reading one session: light copies of all entries, then a few in full.

The type and the time of an entry, and the ids of its call and message, take little
space. They are enough to divide a session of any size into units, messages and pages;
the texts are loaded only for the page that is shown.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from leslied.store.columns import RECORD_COLUMNS
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.record_query import (
    IS_VISIBLE,
    SELECT_RECORDS,
    unpack_placed_record,
)
from leslied.store.read.spawn_lookup import StoredSpawnLookup
from leslied.store.sql import list_columns, select_in_batches
from leslied.store.streams import find_stream

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from leslied.model.record import PlacedRecord, SessionKey
    from leslied.model.session import SessionSummary

HEAD_CHARACTERS = 2_000
"""Length of the beginning of a message's text in a light copy."""
_BLANK = "char(32, 9, 10, 13)"
_HEAD_COLUMNS = {
    "tool_input": "''",
    # Outputs may be megabytes long, and SQLite would have to read all of each.
    "content": "CASE WHEN r.type IN ('tool_result', 'tool_use', 'unknown') THEN '' "
    f"ELSE substr(ltrim(r.content, {_BLANK}), 1, {HEAD_CHARACTERS}) END",
    "spilled": "''",
}
"""Columns of a light copy that differ from those of the record."""


def _make_head_query() -> str:
    """Return SELECT_RECORDS with the columns of light copies."""
    columns = list_columns(RECORD_COLUMNS, table="r")
    head_columns = ", ".join(
        _HEAD_COLUMNS.get(name, f"r.{name}") for name in RECORD_COLUMNS
    )
    return SELECT_RECORDS.replace(columns, head_columns)


_SELECT_HEADS = _make_head_query()


class RawPosition(NamedTuple):
    """Where the bytes of an entry are: in a generation of a log, and in the archive."""

    is_in_log: bool
    """Whether the log was not replaced since the entry was read."""
    archive_file: str
    """File below the archive's folder; empty if the log is not archived."""


class ReadingQueries:
    """Queries over the entries of one session."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def list_heads(
        self,
        key: SessionKey,
        first_unit: int = 0,
        last_unit: int | None = None,
        limit: int = -1,
    ) -> list[PlacedRecord]:
        """List light copies of a stream's entries, in order, from a unit on.

        The copies have no arguments or outputs of calls, only the beginnings of other
        texts, and no sequence number. A negative limit means all entries.
        """
        end = "" if last_unit is None else f"AND p.unit <= {last_unit:d}"
        rows = self._db.execute(
            f"{_SELECT_HEADS} WHERE p.session = ? AND p.unit >= ? {end} "
            f"AND {IS_VISIBLE} ORDER BY p.unit, p.id LIMIT ?",
            (find_stream(self._db, key), first_unit, limit),
        )
        return [unpack_placed_record(row, 0) for row in rows.fetchall()]

    @translate_sqlite_errors
    def get_extent(self, key: SessionKey, unit: int | None) -> tuple[int, int]:
        """Return how many entries a unit or stream has, and their largest `read_order`.

        Both stay the same unless the unit changes.
        """
        condition = "" if unit is None else f"AND unit = {unit:d}"
        row = self._db.execute(
            "SELECT count(*), ifnull(max(id), 0) FROM placement "
            f"WHERE session = ? {condition}",
            (find_stream(self._db, key),),
        ).fetchone()
        count, newest = row
        return count, newest

    @translate_sqlite_errors
    def list_entries(self, read_orders: Sequence[int]) -> list[PlacedRecord]:
        """List the entries with these `read_orders` in full, by unit and read order."""
        rows = select_in_batches(
            self._db, f"{SELECT_RECORDS} WHERE {IS_VISIBLE} AND p.id", read_orders
        )
        entries = [unpack_placed_record(row, 0) for row in rows]
        return sorted(entries, key=lambda placed: (placed.unit, placed.read_order))

    @translate_sqlite_errors
    def find_entry(
        self, streams: Sequence[SessionKey], entry_id: str
    ) -> PlacedRecord | None:
        """Return an entry in the first of the streams that has it, or None."""
        if len(entry_id) % 2 or not set(entry_id) <= set("0123456789abcdef"):
            return None
        for key in streams:
            row = self._db.execute(
                f"{SELECT_RECORDS} WHERE r.entry_id = ? AND p.session = ? "
                f"AND {IS_VISIBLE}",
                (bytes.fromhex(entry_id), find_stream(self._db, key)),
            ).fetchone()
            if row:
                return unpack_placed_record(row, 0)
        return None

    @translate_sqlite_errors
    def find_raw_position(self, placed: PlacedRecord) -> RawPosition:
        """Return where the bytes of an entry can be read."""
        row = self._db.execute(
            "SELECT o.generation, ifnull(a.file, '') FROM source o "
            "LEFT JOIN archived a ON a.source = o.id WHERE o.agent = ? AND o.path = ?",
            (placed.record.session.agent, os.fsencode(placed.path)),
        ).fetchone()
        generation, file = row or (0, "")
        return RawPosition(is_in_log=generation == placed.generation, archive_file=file)

    def get_spawn_lookup(self, main: SessionSummary) -> StoredSpawnLookup:
        """Return the facts that decide which unit spawned each subagent of `main`."""
        return StoredSpawnLookup(self._db, main)
