"""The store's only writer: commits records together with the cursor of their source."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeVar

from leslied.errors import StoreUnusable, describe_cause
from leslied.failpoints import failpoint
from leslied.model.times import to_us
from leslied.store import write
from leslied.store.columns import pack_path
from leslied.store.connection import (
    begin_bulk_load,
    end_bulk_load,
    lock_store,
    open_writer,
    translate_sqlite_errors,
    vacuum,
    write_lock_info,
)
from leslied.store.cursors import (
    CURSOR_COLUMNS,
    NO_STAMP,
    STAMP_COLUMNS,
    to_signed,
    unpack_cursor,
    unpack_stamp,
)
from leslied.store.forgotten import Forgotten, ForgottenItems
from leslied.store.ledgers.archive import ArchiveLedger
from leslied.store.ledgers.assets import AssetLedger
from leslied.store.ledgers.exports import ExportLedger
from leslied.store.ledgers.failures import FailureLedger
from leslied.store.ledgers.metadata import MetadataLedger
from leslied.store.ledgers.projects import ProjectLedger
from leslied.store.ledgers.redecode import RedecodeLedger
from leslied.store.ledgers.relations import RelationsLedger
from leslied.store.ledgers.transcripts import TranscriptLedger
from leslied.store.open_files import OpenFiles
from leslied.store.read.agents import record_scan
from leslied.store.sql import fetch_column, fetch_value, list_columns
from leslied.store.streams import SELECT_UNREGISTERED
from leslied.store.write.commits import CommitReport, Commits
from leslied.store.write.text_indexer import index_missing_texts, run_indexer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from leslied.clock import Clock
    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.session import Activity
    from leslied.model.source import Cursor, FileStamp
    from leslied.store.write.text_indexer import TextIndexer

T = TypeVar("T")


class Store:
    """The only writer of the store. While it is open, no other process can write."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._indexer: TextIndexer | None = None
        self._lock = lock_store(path, clock)
        try:
            self.forgotten = Forgotten(path)
            self._db = open_writer(path)
            self._commits = Commits(self._db, path)
            self._prepare_store()
            self.files = OpenFiles(path)
        except BaseException:
            os.close(self._lock)
            raise

    @property
    def write_transactions(self) -> int:
        """Return how many transactions of this object have changed the store."""
        return self._commits.count

    def group_commits(self) -> AbstractContextManager[None]:
        """Return a context in which ledgers commit together, at its end or at `flush`.

        Ingest and changes of a session's status are committed immediately instead.
        """
        return self._commits.group()

    def flush(self) -> None:
        """Commit what ledgers wrote; call it before an action that depends on that."""
        self._commits.flush()

    def write_lock_info(self, text: str) -> None:
        """Write a text that other processes can read while this store is open."""
        write_lock_info(self._lock, text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Empty the write-ahead log if possible, close the file, release the lock."""
        try:
            if self._db.total_changes:
                # A long read can block this checkpoint; a later one does its work.
                self._db.execute("PRAGMA busy_timeout = 200")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            pass
        finally:
            self._db.close()
            os.close(self._lock)

    @translate_sqlite_errors
    def load_stamps(
        self, agent: str, *, is_final: bool = False
    ) -> dict[bytes, FileStamp]:
        """Return the file stamps of the agent's sources, by path.

        With `is_final`, omit sources that have an unread incomplete last line.
        """
        complete_condition = "AND size IN (offset, finished)" if is_final else ""
        rows = self._db.execute(
            f"SELECT path, {list_columns(STAMP_COLUMNS)} FROM source "
            f"WHERE agent = ? {complete_condition}",
            (agent,),
        )
        return {path: unpack_stamp(stamp) or NO_STAMP for path, *stamp in rows}

    @translate_sqlite_errors
    def find_source_path(self, agent: str, stamp: FileStamp) -> bytes:
        """Return the path under which this file was read before, or b""."""
        query = "SELECT path FROM source WHERE agent = ? AND inode = ? AND dev = ?"
        values = (agent, to_signed(stamp.inode), to_signed(stamp.dev))
        return bytes(fetch_value(self._db, query, values, default=b""))

    @translate_sqlite_errors
    def find_cursor(self, agent: str, path: bytes) -> Cursor | None:
        """Return the cursor of a source, or None if it was never read."""
        columns = list_columns(CURSOR_COLUMNS)
        query = f"SELECT {columns} FROM source WHERE agent = ? AND path = ?"
        row = self._db.execute(query, (agent, path)).fetchone()
        return unpack_cursor(row) if row else None

    def commit(self, chunks: Sequence[DecodedChunk]) -> CommitReport:
        """Store all chunks, each with its cursor, in one transaction.

        Lone surrogates, which SQLite cannot store, are replaced.
        """
        try:
            return self._commit(chunks)
        except UnicodeEncodeError:
            return self._commit([write.sanitize_chunk(chunk) for chunk in chunks])

    def _commit(self, chunks: Sequence[DecodedChunk]) -> CommitReport:
        now_us = to_us(self._clock.now())
        with self._commits.transaction():
            transaction = write.Transaction(
                self._db, now_us, self.forgotten, self._indexer
            )
            for chunk in chunks:
                transaction.add(chunk)
            self.forgotten.add(ForgottenItems(entry_ids=transaction.forgotten_ids))
            records, placements = transaction.finish()
            failpoint("commit.before")
        failpoint("commit.after")
        transaction.send_texts()
        return CommitReport(records, placements)

    def record_source_error(self, agent: str, path: Path, reason: str) -> None:
        """Save why a source could not be read. Its records are not affected."""
        with self._commits.transaction():
            self._db.execute(
                "INSERT INTO source (agent, path, trouble) VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET trouble = excluded.trouble "
                "WHERE trouble <> excluded.trouble",
                (agent, pack_path(path), reason),
            )

    @contextmanager
    def track_scan(self, agent: str) -> Iterator[list[object]]:
        """Save when the scan in this context started, if it changed anything.

        Yield a list for skipped sources. If it gets any, the time is not saved.
        """
        skipped_sources: list[object] = []
        start_us = to_us(self._clock.now())
        changes_before = self._db.total_changes
        yield skipped_sources
        if self._db.total_changes != changes_before and not skipped_sources:
            with self._commits.postponable():
                record_scan(self._db, agent, start_us)

    def mark_gone(self, agent: str, paths: Iterable[bytes]) -> None:
        """Record that these files no longer exist. Their records remain."""
        with self._commits.transaction():
            self._db.executemany(
                "UPDATE source SET is_gone = 1 "
                "WHERE agent = ? AND path = ? AND is_gone = 0",
                [(agent, path) for path in paths],
            )

    def list_gone(self, agent: str) -> list[bytes]:
        """List the paths of the agent's sources that were gone at the last scan."""
        query = "SELECT path FROM source WHERE agent = ? AND is_gone"
        return fetch_column(self._db, query, (agent,))

    def mark_present(self, agent: str, paths: Iterable[bytes]) -> None:
        """Record that these files, which were gone, are back."""
        with self._commits.transaction():
            self._db.executemany(
                "UPDATE source SET is_gone = 0 WHERE agent = ? AND path = ?",
                [(agent, path) for path in paths],
            )

    def move_source(self, agent: str, old: bytes, new: bytes) -> None:
        """Change the path of a source whose file was moved; its cursor remains.

        Do nothing if there is a source with the new path.
        """
        with self._commits.transaction():
            self._db.execute(
                "UPDATE OR IGNORE source SET path = ?, is_gone = 0 "
                "WHERE agent = ? AND path = ?",
                (new, agent, old),
            )

    @contextmanager
    def _open_ledger(self, make: Callable[[sqlite3.Connection], T]) -> Iterator[T]:
        with self._commits.postponable():
            yield make(self._db)

    def transcripts(self) -> AbstractContextManager[TranscriptLedger]:
        """Return the ledger of transcripts; its changes are one transaction."""
        return self._open_ledger(TranscriptLedger)

    def mark_stopped(self, agent: str, session_ids: Iterable[str]) -> int:
        """Mark sessions and subagents as stopped; return how many were newly marked."""
        now_us = to_us(self._clock.now())
        with self._commits.transaction():
            result = self._db.executemany(
                "UPDATE session SET stopped_us = ?, is_dirty = 1 WHERE agent = ? "
                "AND session_id = ? AND stopped_us IS NULL AND entries > 0",
                [(now_us, agent, session_id) for session_id in session_ids],
            )
        return result.rowcount

    @translate_sqlite_errors
    def list_unregistered(
        self,
        agent: str,
        entrypoints: Iterable[str],
        since_us: int,
        until_us: int,
        *,
        with_settled: bool = False,
    ) -> list[str]:
        """List sessions of these entrypoints that ended a turn and are not live.

        Their last entry is not older than `since_us`, and was read by `until_us`. With
        `with_settled`, settled sessions are listed, too.
        """
        values = (since_us, until_us, agent, json.dumps(sorted(entrypoints)))
        condition = "" if with_settled else " AND is_dirty"
        return fetch_column(self._db, SELECT_UNREGISTERED + condition, values)

    @translate_sqlite_errors
    def mark_live(self, sessions: Iterable[tuple[str, str]]) -> None:
        """Mark exactly these sessions as live; each is an agent and a session id."""
        if changed_rows := write.find_live_changes(self._db, sessions):
            with self._commits.transaction():
                sql = "UPDATE session SET is_live = NOT is_live WHERE id = ?"
                self._db.executemany(sql, changed_rows)

    def mark_waiting(self, activities: Mapping[tuple[str, str], Activity]) -> None:
        """Record which sessions wait for the user; see `decide_waiting`.

        `activities` has the reports of processes and hooks, by agent and session id.
        """
        if changes := write.find_waiting_changes(self._db, activities):
            with self._commits.transaction():
                self._db.executemany(write.SET_WAITING, changes)

    def archive(self) -> AbstractContextManager[ArchiveLedger]:
        """Return the ledger of the archive; its changes are one transaction."""
        return self._open_ledger(ArchiveLedger)

    def relations(self) -> AbstractContextManager[RelationsLedger]:
        """Return the ledger of relations; its changes are one transaction."""
        return self._open_ledger(RelationsLedger)

    def assets(self) -> AbstractContextManager[AssetLedger]:
        """Return the ledger of the asset index; its changes are one transaction."""
        return self._open_ledger(AssetLedger)

    def exports(self) -> AbstractContextManager[ExportLedger]:
        """Return the ledger of exports; its changes are one transaction."""
        return self._open_ledger(ExportLedger)

    def projects(self) -> AbstractContextManager[ProjectLedger]:
        """Return the ledger of projects; its changes are one transaction."""
        return self._open_ledger(ProjectLedger)

    def failures(self) -> AbstractContextManager[FailureLedger]:
        """Return the ledger of failed work; its changes are one transaction."""
        return self._open_ledger(FailureLedger)

    def metadata(self) -> AbstractContextManager[MetadataLedger]:
        """Return the ledger of session metadata; its changes are one transaction."""
        return self._open_ledger(MetadataLedger)

    def decoder_versions(self) -> AbstractContextManager[RedecodeLedger]:
        """Return the ledger of decoder versions; its changes are one transaction."""
        return self._open_ledger(RedecodeLedger)

    @contextmanager
    def redecode(self, source: int, version: int) -> Iterator[write.Redecode]:
        """Yield an object that replaces the entries of a source, in one transaction."""
        with self._commits.transaction():
            now_us = to_us(self._clock.now())
            yield write.Redecode(self._db, now_us, source, version, self.forgotten)

    @contextmanager
    def pruner(self) -> Iterator[write.Forgetter]:
        """Yield an object that deletes sessions and entries, in one transaction."""
        self.flush()
        # Overwrite deleted rows with zeros instead of leaving their bytes in the file.
        self._db.execute("PRAGMA secure_delete = ON")
        with self._commits.transaction():
            yield write.Forgetter(self._db, to_us(self._clock.now()))

    def vacuum(self) -> bool:
        """Rewrite the file without deleted content; needs twice its size for a while.

        Return False if another process still reads it. Raise StoreUnusable on failure.
        """
        try:
            return vacuum(self._db)
        except sqlite3.Error as error:
            raise StoreUnusable(
                f"The store at {self.path} cannot be compacted: "
                f"{describe_cause(error)}.",
                "The sessions are deleted, but the file may still contain their text. "
                "Free some space, then run the same command again.",
            ) from error

    def mark_all_stopped(self) -> int:
        """Mark every session as stopped now; return how many were newly marked."""
        with self._commits.transaction():
            result = self._db.execute(
                "UPDATE session SET stopped_us = ? "
                "WHERE stopped_us IS NULL AND entries > 0",
                (to_us(self._clock.now()),),
            )
        return result.rowcount

    @contextmanager
    def bulk_load(
        self, *, is_enabled: bool = True, is_large: bool = False
    ) -> Iterator[None]:
        """Make commits fast during a large import, and durable again afterwards.

        Entries that a power loss destroys are read again from the logs. A second
        process builds the index of a large first import.
        """
        if not is_enabled:
            yield
            return
        self.flush()
        begin_bulk_load(self._db)
        try:
            with run_indexer(self._db, self.path, is_enabled=is_large) as self._indexer:
                yield
        finally:
            self._indexer = None
            self.flush()
            end_bulk_load(self._db)

    @translate_sqlite_errors
    def _prepare_store(self) -> None:
        """Finish the index of a killed sync; in a new store, save its creation time."""
        index_missing_texts(self._db, self.path)
        query = "SELECT 1 FROM meta WHERE key = 'created_us'"
        if self._db.execute(query).fetchone() is None:
            values = (str(to_us(self._clock.now())),)
            self._db.execute("INSERT INTO meta VALUES ('created_us', ?)", values)

    @translate_sqlite_errors
    def is_new_agent(self, agent: str) -> bool:
        """Return whether no source of the agent was ever read."""
        query = "SELECT 1 FROM source WHERE agent = ? LIMIT 1"
        return self._db.execute(query, (agent,)).fetchone() is None
