"""Keeping readings: records and the cursor that paid for them, in one transaction."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from leslied.errors import StoreUnusable
from leslied.failpoints import failpoint
from leslied.store.agents import record_scan
from leslied.store.archive_ledger import ArchiveLedger
from leslied.store.asset_ledger import AssetLedger
from leslied.store.columns import pack_path, to_us
from leslied.store.connection import (
    begin_bulk_load,
    end_bulk_load,
    lock_store,
    open_writer,
    translate_sqlite_errors,
    vacuum,
    write_lock_info,
)
from leslied.store.cursors import CURSOR_COLUMNS, to_signed, unpack_cursor, unpack_stamp
from leslied.store.export_ledger import ExportLedger
from leslied.store.failure_ledger import FailureLedger
from leslied.store.prune import SessionPruner
from leslied.store.relations_ledger import RelationsLedger
from leslied.store.sanitize import sanitize_reading
from leslied.store.session_metadata import MetadataLedger
from leslied.store.transaction import Transaction
from leslied.store.transcript_ledger import TranscriptLedger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.clock import Clock
    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.source import Cursor, FileStamp


@dataclass(slots=True)
class CommitReport:
    """What a commit added."""

    records: int = 0
    placements: int = 0

    def __iadd__(self, other: CommitReport) -> Self:
        """Both together."""
        self.records += other.records
        self.placements += other.placements
        return self


class Store:
    """The one writer of the store. While it is open, no other process can write."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._lock = lock_store(path)
        try:
            self._db = open_writer(path)
            self._record_creation()
        except BaseException:
            os.close(self._lock)
            raise

    def write_lock_info(self, text: str) -> None:
        """Others can read these words for as long as the store is open here."""
        write_lock_info(self._lock, text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Everything is on disk in one file, and another process may write."""
        try:
            if self._db.total_changes:
                # A long reader may hold the log; then the next checkpoint takes it.
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
        """What each known source looked like; `is_final` leaves out unended ones."""
        ended = "AND size IN (offset, finished)" if is_final else ""
        rows = self._db.execute(
            "SELECT path, dev, inode, size, mtime_ns, ctime_ns FROM source "
            f"WHERE agent = ? {ended}",
            (agent,),
        )
        return {row[0]: unpack_stamp(row[1:]) for row in rows}

    @translate_sqlite_errors
    def find_source_path(self, agent: str, stamp: FileStamp) -> bytes:
        """The path under which this very file was read before; empty if it was not."""
        row = self._db.execute(
            "SELECT path FROM source WHERE agent = ? AND inode = ? AND dev = ?",
            (agent, to_signed(stamp.inode), to_signed(stamp.dev)),
        ).fetchone()
        return bytes(row[0]) if row else b""

    @translate_sqlite_errors
    def find_cursor(self, agent: str, path: bytes) -> Cursor | None:
        """How far one source was read."""
        query = f"SELECT {CURSOR_COLUMNS} FROM source WHERE agent = ? AND path = ?"
        row = self._db.execute(query, (agent, path)).fetchone()
        return unpack_cursor(row) if row else None

    def commit(self, readings: Sequence[DecodedChunk]) -> CommitReport:
        """All of the readings are kept, each with its cursor; or, on error, none."""
        try:
            return self._commit(readings)
        except UnicodeEncodeError:
            return self._commit([sanitize_reading(reading) for reading in readings])

    def _commit(self, readings: Sequence[DecodedChunk]) -> CommitReport:
        observed_us = to_us(self._clock.now())
        with self._transaction():
            work = Transaction(self._db, observed_us)
            for reading in readings:
                work.add(reading)
            records, placements = work.finish()
            failpoint("commit.before")
        failpoint("commit.after")
        return CommitReport(records, placements)

    def record_source_error(self, agent: str, path: Path, reason: str) -> None:
        """The source could not be read, and why; what was read of it stays."""
        values = (agent, pack_path(path), reason)
        with self._transaction():
            self._db.execute(
                "INSERT INTO source (agent, path, trouble) VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET trouble = excluded.trouble "
                "WHERE trouble <> excluded.trouble",
                values,
            )

    @contextmanager
    def track_scan(self, agent: str) -> Iterator[None]:
        """A look at all of the agent's sources; when it began is kept, if it was new.

        A look that found nothing writes nothing.
        """
        began, before = to_us(self._clock.now()), self._db.total_changes
        yield
        if self._db.total_changes != before:
            with self._transaction():
                record_scan(self._db, agent, began)

    def mark_gone(self, agent: str, paths: Iterable[bytes]) -> None:
        """The files are no longer there; their records stay."""
        with self._transaction():
            self._db.executemany(
                "UPDATE source SET is_gone = 1 "
                "WHERE agent = ? AND path = ? AND is_gone = 0",
                [(agent, path) for path in paths],
            )

    def move_source(self, agent: str, old: bytes, new: bytes) -> None:
        """The same file, under another name: reading goes on where it was."""
        with self._transaction():
            self._db.execute(
                "UPDATE OR IGNORE source SET path = ?, is_gone = 0 "
                "WHERE agent = ? AND path = ?",
                (new, agent, old),
            )

    @contextmanager
    def transcripts(self) -> Iterator[TranscriptLedger]:
        """Notes about output, kept together or not at all."""
        with self._transaction():
            yield TranscriptLedger(self._db)

    def mark_stopped(self, agent: str, session_ids: Iterable[str]) -> int:
        """These sessions are over, with their subagents; says how many were not yet."""
        with self._transaction():
            done = self._db.executemany(
                "UPDATE session SET stopped_us = ?, is_dirty = 1 WHERE agent = ? "
                "AND session_id = ? AND stopped_us IS NULL AND entries > 0",
                [(to_us(self._clock.now()), agent, each) for each in session_ids],
            )
        return done.rowcount

    @translate_sqlite_errors
    def mark_live(self, agent: str, session_ids: Iterable[str]) -> None:
        """Save which sessions of the agent a process works on; write only changes."""
        ids = json.dumps(sorted(session_ids))
        changed = self._db.execute(
            "SELECT id FROM session WHERE agent = ?1 AND is_live "
            "AND session_id NOT IN (SELECT value FROM json_each(?2)) UNION ALL "
            "SELECT s.id FROM json_each(?2) JOIN session s ON s.agent = ?1 "
            "AND s.session_id = value WHERE NOT s.is_live",
            (agent, ids),
        ).fetchall()
        if changed:
            with self._transaction():
                self._db.executemany(
                    "UPDATE session SET is_live = NOT is_live WHERE id = ?", changed
                )

    @contextmanager
    def archive(self) -> Iterator[ArchiveLedger]:
        """Notes about the archive, kept together or not at all."""
        with self._transaction():
            yield ArchiveLedger(self._db)

    @contextmanager
    def relations(self) -> Iterator[RelationsLedger]:
        """Notes about threads among others, kept together or not at all."""
        with self._transaction():
            yield RelationsLedger(self._db)

    @contextmanager
    def assets(self) -> Iterator[AssetLedger]:
        """Notes about threads, kept together or not at all."""
        with self._transaction():
            yield AssetLedger(self._db)

    @contextmanager
    def exports(self) -> Iterator[ExportLedger]:
        """Notes about other outputs, kept together or not at all."""
        with self._transaction():
            yield ExportLedger(self._db)

    @contextmanager
    def failures(self) -> Iterator[FailureLedger]:
        """Yield the ledger of failed work, in one transaction."""
        with self._transaction():
            yield FailureLedger(self._db)

    @contextmanager
    def metadata(self) -> Iterator[MetadataLedger]:
        """Names read or given back, kept together or not at all."""
        with self._transaction():
            yield MetadataLedger(self._db)

    @contextmanager
    def pruner(self) -> Iterator[SessionPruner]:
        """Sessions taken out, together or not at all."""
        # Deleted rows are zeros in the file, not bytes that nobody points at.
        self._db.execute("PRAGMA secure_delete = ON")
        with self._transaction():
            yield SessionPruner(self._db)

    def vacuum(self) -> bool:
        """The file is as small as it can be, and holds no word of what was removed.

        SQLite writes it anew, which takes twice its size of free space meanwhile.
        False while another program still reads what was there before.
        """
        try:
            return vacuum(self._db)
        except sqlite3.Error as error:
            raise StoreUnusable(
                f"The store at {self.path} cannot be made smaller: {error}.",
                "What you wanted to be rid of is out of every list. Free some space, "
                "then run the same command again.",
            ) from error

    def mark_all_stopped(self) -> int:
        """Every session counts as stopped now; says how many were not yet."""
        with self._transaction():
            done = self._db.execute(
                "UPDATE session SET stopped_us = ? "
                "WHERE stopped_us IS NULL AND entries > 0",
                (to_us(self._clock.now()),),
            )
        return done.rowcount

    @contextmanager
    def bulk_load(self, *, is_wanted: bool = True) -> Iterator[None]:
        """Commits are fast while very much is read, and safe ever after.

        What a power loss costs a first sync is read again from the logs.
        """
        if not is_wanted:
            yield
            return
        begin_bulk_load(self._db)
        try:
            yield
        finally:
            end_bulk_load(self._db)

    @translate_sqlite_errors
    def _record_creation(self) -> None:
        """What ended before this moment is old: nobody waits for its files."""
        query = "SELECT 1 FROM meta WHERE key = 'created_us'"
        if self._db.execute(query).fetchone() is None:
            self._db.execute(
                "INSERT INTO meta VALUES ('created_us', ?)",
                (str(to_us(self._clock.now())),),
            )

    @translate_sqlite_errors
    def is_new_agent(self, agent: str) -> bool:
        """Whether no source of the agent was ever read."""
        query = "SELECT 1 FROM source WHERE agent = ? LIMIT 1"
        return self._db.execute(query, (agent,)).fetchone() is None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise StoreUnusable(
                    f"The store at {self.path} cannot be written: {error}.",
                    "Nothing was lost. Free some space or check the disk, "
                    "then run: leslied sync",
                ) from error
            raise
