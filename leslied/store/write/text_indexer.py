"""Build the text index of a first sync in a second process, while rows are written.

The second process writes to a database of its own, beside the store. At the end, the
tables of its index are copied into the store. Until then, the store is marked as not
indexed; whoever opens a marked store for writing indexes its records first.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from leslied.failpoints import failpoint
from leslied.forked import detach, enlarge_pipe
from leslied.fs import TEMPORARY_SUFFIX
from leslied.model.record import SessionKey
from leslied.store.columns import RECORD_COLUMNS, unpack_record
from leslied.store.connection import connect, create_private_file, make_unusable_error
from leslied.store.fts_text import UNINDEXED_FROM, extract_index_text
from leslied.store.sql import fetch_value, list_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    TextRow = tuple[int, str]
    """A record's row id and its text for the index."""

INSERT_TEXT = "INSERT INTO record_text (rowid, text) VALUES (?, ?)"
_INDEX_TABLES = ("record_text_data", "record_text_idx", "record_text_docsize")
_INDEX_OPTIONS = {"automerge": 0, "hashsize": 32_000_000}
"""Options of the second process: few large segments, never merged."""
_SET_OPTION = "INSERT INTO record_text (record_text, rank) VALUES (?, ?)"
_RECORDS_PER_COMMIT = 2000
_NO_SESSION = SessionKey("", "")
"""Key for unpacked records; their index text does not depend on the session."""


class TextIndexer:
    """The second process, and the texts that are sent to it."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        import multiprocessing  # noqa: PLC0415 - costs 15 ms, and few runs need it

        self._db, self._path = db, path
        name = f"{path.name}.index-{os.getpid()}{TEMPORARY_SUFFIX}"
        self._index_path = path.with_name(name)
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (UNINDEXED_FROM,))
        query = "SELECT sql FROM sqlite_master WHERE name = 'record_text'"
        context = multiprocessing.get_context("fork")
        receiver, self._sender = context.Pipe(duplex=False)
        enlarge_pipe(self._sender)
        self._process = context.Process(
            target=_build_index,
            args=(self._index_path, fetch_value(db, query), receiver),
            daemon=True,
        )
        self._process.start()
        receiver.close()

    def add(self, rows: list[TextRow]) -> None:
        """Index the texts of committed records."""
        # If the process has ended, `finish` indexes the records of the store.
        with suppress(OSError):
            self._sender.send_bytes(msgspec.msgpack.encode(rows))

    def finish(self) -> None:
        """Wait for the second process, and copy its index into the store.

        If that fails, the store stays marked.
        """
        with suppress(OSError), closing(self._sender):
            self._sender.send_bytes(b"")
        self._process.join()
        failpoint("index.before")
        if self._process.exitcode == 0:
            with suppress(sqlite3.Error):
                self._copy_index()
        self._index_path.unlink(missing_ok=True)

    def _copy_index(self) -> None:
        # FTS5 caches its tables, and notices only what other connections change.
        with closing(connect(self._path)) as db:
            db.execute("ATTACH ? AS side", (os.fsencode(self._index_path),))
            db.execute("BEGIN IMMEDIATE")
            for table in _INDEX_TABLES:
                db.execute(f"DELETE FROM main.{table}")
                db.execute(f"INSERT INTO main.{table} SELECT * FROM side.{table}")
            db.execute("DELETE FROM meta WHERE key = ?", (UNINDEXED_FROM,))
            # Nobody would delete the file after a crash that follows the commit.
            self._index_path.unlink()
            failpoint("index.half")
            db.execute("COMMIT")
        failpoint("index.after")


@contextmanager
def run_indexer(
    db: sqlite3.Connection, path: Path, *, is_enabled: bool
) -> Iterator[TextIndexer | None]:
    """Yield a process that builds the index, or None if each commit must index."""
    query = "SELECT 1 FROM record_text_docsize LIMIT 1"
    if not is_enabled or db.execute(query).fetchone():
        yield None
        return
    indexer = TextIndexer(db, path)
    try:
        yield indexer
    finally:
        indexer.finish()
        # Later commits index their own records. If the store stayed marked, these would
        # be indexed again.
        index_missing_texts(db, path)


def index_missing_texts(db: sqlite3.Connection, path: Path) -> None:
    """Index the records that a first sync has left unindexed, for example if killed.

    Raise StoreUnusable if that fails.
    """
    try:
        _index_missing_texts(db, path)
    except sqlite3.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise make_unusable_error(path, error) from error


def _index_missing_texts(db: sqlite3.Connection, path: Path) -> None:
    query = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?"
    start = fetch_value(db, query, (UNINDEXED_FROM,))
    if start is not None:
        for file in path.parent.glob(f"{path.name}.index-*"):
            file.unlink(missing_ok=True)
    while start is not None:
        records = list(_select_texts(db, start))
        db.execute("BEGIN IMMEDIATE")
        db.executemany(INSERT_TEXT, [(row, text) for row, text in records if text])
        start = max(row for row, _ in records) + 1 if records else None
        values = (UNINDEXED_FROM, start)
        db.execute("DELETE FROM meta WHERE key = ?1 AND ?2 IS NULL", values)
        db.execute("UPDATE meta SET value = ?2 WHERE key = ?1", values)
        db.execute("COMMIT")


def _select_texts(db: sqlite3.Connection, start: int) -> Iterable[TextRow]:
    """Yield (row id, text) of the next records, from the row id `start` on."""
    rows = db.execute(
        f"SELECT id, {list_columns(RECORD_COLUMNS)} FROM record WHERE id >= ? "
        "ORDER BY id LIMIT ?",
        (start, _RECORDS_PER_COMMIT),
    )
    for row_id, *values in rows:
        record, *_ = unpack_record(values, _NO_SESSION)
        yield row_id, extract_index_text(record)


def _build_index(path: Path, create_table: str, receiver: Connection) -> None:
    """Index the texts that are received; exit with 0 only if all were indexed."""
    try:
        _index_received(path, create_table, receiver)
    except Exception:  # noqa: BLE001 - multiprocessing would print texts
        # The parent has ended, or will index the texts itself.
        os._exit(1)


def _index_received(path: Path, create_table: str, receiver: Connection) -> None:
    """Index texts from the receiver into a new database, until an empty message."""
    detach(receiver)
    create_private_file(path)
    with closing(connect(path)) as db:
        # Nothing needs this file after a crash.
        for pragma in ("page_size = 8192", "journal_mode = OFF", "synchronous = OFF"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("BEGIN")
        db.execute(create_table)
        for option in _INDEX_OPTIONS.items():
            db.execute(_SET_OPTION, option)
        while message := receiver.recv_bytes():
            db.executemany(INSERT_TEXT, msgspec.msgpack.decode(message))
        db.execute("COMMIT")
