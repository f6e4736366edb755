"""The archive check stage: verify archive files and repair damaged ones.

A file is verified when its modification time is not that of leslied's last write. A bit
that flips on the disk does not change that time, so a file is also verified a week
after it was last verified: agents delete their logs, Claude Code after 30 days, and a
file can be repaired only while the log exists. A file that leslied has just written
counts as verified.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from leslied import tail
from leslied.archive import ArchiveError, ArchiveReader, ArchiveVersionError, FrameKind
from leslied.model.times import to_us
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage, Timing
from leslied.pipeline.stages.archive_frames import parse_spill

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from leslied.archive import ArchiveRepair
    from leslied.pipeline.failures import Failures
    from leslied.pipeline.maintenance.archive_repair import ArchivedOriginal
    from leslied.pipeline.stage import Budget
    from leslied.pipeline.stages.archive import Archiver
    from leslied.store import Store
    from leslied.store.ledgers.archive import ArchiveCursor, DueSource

VERIFY_AFTER = timedelta(days=7)
_SCOPE = "archive file"
"""Scope of failures: files with damage that cannot be repaired."""


class ArchiveCheckReport(Report, kw_only=True):
    """Counts and errors of one run."""

    verified: int = 0
    repaired: int = 0

    event = "archive.repair"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"files": self.repaired} if self.repaired else {}


class _Verification(Struct, eq=False):
    """A file that is being verified, in pieces, so that new entries need not wait."""

    source: int
    file: str
    reader: ArchiveReader
    pieces: Iterator[int]


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class ArchiveCheck(Stage):
    """The archive check stage."""

    archiver: Archiver
    """Knows the logs, and how they are archived."""
    _queue: list[tuple[int, str]] = field(default_factory=list)
    """Sources and archive files to verify."""
    _current: _Verification | None = None

    name = "archive check"
    timing = Timing.AFTER_SCAN
    activity = "Verifying the archive"

    @property
    def _store(self) -> Store:
        return self.archiver.store

    @property
    def _failures(self) -> Failures:
        return self.archiver.failures

    def adopt(self, previous: Self) -> None:
        """Continue the verification that the previous stage began."""
        self._queue = previous._queue
        self._current, previous._current = previous._current, None

    def close(self) -> None:
        """Close the file that is being verified."""
        self._end_verification()

    def run(self, budget: Budget = FULL_BUDGET) -> ArchiveCheckReport:
        """Verify due files, and repair those that are damaged."""
        report = ArchiveCheckReport()
        if not budget.includes_backlog:
            report.has_more = bool(self._queue or self._current)
            return report
        if budget.is_scan:
            self._queue = self._list_due()
        bytes_left = budget.max_verified_bytes
        while self._queue or self._current:
            if bytes_left <= 0 or budget.should_yield():
                report.has_more = True
                break
            bytes_left -= self._advance(report)
        return report

    def _list_due(self) -> list[tuple[int, str]]:
        """Return the sources and files to verify; clear failures of all other files."""
        cutoff_us = to_us(self.archiver.clock.now() - VERIFY_AFTER)
        with self._store.archive() as ledger:
            due = ledger.list_unverified(cutoff_us)
        files = {file for _, file in due}
        for file in self._failures.list_names(_SCOPE):
            if file not in files:
                self._failures.clear(_SCOPE, file)
        return [
            (source, file)
            for source, file in due
            if not self._failures.is_paused(_SCOPE, file)
        ]

    def _advance(self, report: ArchiveCheckReport) -> int:
        """Verify the next piece of a file; return how many bytes were read."""
        if self._current is None:
            source, file = self._queue.pop(0)
            try:
                reader = ArchiveReader(self._get_path(file))
            except ArchiveVersionError:
                raise
            except ArchiveError:
                self._repair(source, file, report)
                return 0
            pieces = reader.iter_verified_bytes()
            self._current = _Verification(source, file, reader, pieces)
        current = self._current
        try:
            return next(current.pieces)
        except StopIteration:
            self._end_verification()
            self._finish(current, report)
        except ArchiveError:
            self._end_verification()
            self._repair(current.source, current.file, report)
        return 0

    def _end_verification(self) -> None:
        if self._current:
            self._current.reader.close()
        self._current = None

    def _finish(self, current: _Verification, report: ArchiveCheckReport) -> None:
        """Record that a file is undamaged, unless bytes at its end are missing."""
        due = self._load_source(current.source)
        if due is None or due.archive_cursor is None:
            return
        if current.reader.size < due.archive_cursor.size:
            self._repair(current.source, current.file, report)
            return
        report.verified += 1
        self._failures.clear(_SCOPE, current.file)
        with self._store.archive() as ledger:
            # If something was appended meanwhile, the time differs at the next scan.
            now_us = to_us(self.archiver.clock.now())
            ledger.mark_verified(current.source, current.reader.mtime_ns, now_us)

    def _repair(self, source: int, file: str, report: ArchiveCheckReport) -> None:
        """Repair a damaged file; record damage that cannot be repaired."""
        due = self._load_source(source)
        if due is None or due.archive_cursor is None:
            return
        try:
            problem = _FileRepair(self.archiver, due, due.archive_cursor).run()
        except ArchiveVersionError:
            raise
        except ArchiveError as error:
            problem = error.message
        if problem:
            reason = self._failures.record(_SCOPE, file, problem)
            report.errors[file] = reason
        else:
            self._failures.clear(_SCOPE, file)
            report.repaired += 1

    def _load_source(self, source: int) -> DueSource | None:
        with self._store.archive() as ledger:
            return next(iter(ledger.load_sources([source])), None)

    def _get_path(self, file: str) -> Path:
        return self.archiver.archive_dir / file


class _FileRepair(Struct, eq=False):
    """Repair of one archive file with everything that the store knows about it."""

    archiver: Archiver
    due: DueSource
    old: ArchiveCursor
    """How far the source was archived."""
    _new_cursor: ArchiveCursor | None = None

    def run(self) -> str:
        """Repair the file and record its new state; return what is lost, or ""."""
        # Only a damaged file needs the modules that write archive files.
        from leslied.pipeline.maintenance import archive_repair  # noqa: PLC0415

        path = self.archiver.archive_dir / self.old.file
        original = self._make_original()
        result = archive_repair.repair_file(path, original, self._add_missing)
        with ArchiveReader(path) as reader:
            size, mtime_ns = reader.size, reader.mtime_ns
        problems = list(result.remaining)
        if not (result.restored or self._new_cursor) and size < self.old.size:
            problems.append(f"{path}: the last {self.old.size - size} bytes are gone")
        self._save(size, mtime_ns, is_whole=not problems)
        return "; ".join(problems)

    def _save(self, size: int, mtime_ns: int, *, is_whole: bool) -> None:
        """Save the state of the file, unless bytes are gone and none could be added.

        The old state then shows at the next check that bytes are gone.
        """
        if not (is_whole or self._new_cursor):
            return
        cursor = structs.replace(
            self._new_cursor or self.old,
            size=size,
            mtime_ns=mtime_ns,
            verified_us=to_us(self.archiver.clock.now()) if is_whole else 0,
        )
        with self.archiver.store.archive() as ledger:
            ledger.save(cursor)

    def _make_original(self) -> ArchivedOriginal:
        from leslied.pipeline.maintenance.archive_repair import (  # noqa: PLC0415
            ArchivedOriginal,
        )

        archiver, due = self.archiver, self.due
        with archiver.store.archive() as ledger:
            spills = ledger.list_spills(due.source, after=0)
        path = Path(os.fsdecode(due.path))
        return ArchivedOriginal(
            log=tail.find_source(due.agent, archiver.roots.get(due.agent, ()), path),
            forgotten=archiver.store.forgotten,
            spills=dict(parse_spill(*spill) for spill in spills),
            mask=archiver.mask,
            limits=archiver.limits,
        )

    def _add_missing(self, repair: ArchiveRepair) -> bool:
        """Append the bytes that the new file lacks.

        Return whether the damaged regions at the end of the old file can be left out:
        only bytes of the newest archived generation can have been there, and the new
        file has all of that generation.
        """
        # The offset -1 stands for an archive file of which any part may be missing.
        old_cursor = structs.replace(self.old, offset=-1, newest=0)
        due = structs.replace(self.due, archive_cursor=old_cursor)
        self._new_cursor = self.archiver.add_missing(due, repair.writer)
        if not repair.open_regions:
            return True
        newest = repair.writer.find_last_frame(FrameKind.LOG, FrameKind.DOCUMENT)
        if self._new_cursor is None or newest is None:
            return False
        previous = repair.last_frame.generation if repair.last_frame else 0
        is_next = self.old.number == previous + 1
        if newest.kind == FrameKind.LOG:
            # The regions may also have held the end of the previous generation.
            is_next = is_next and not previous
        is_continued = is_next or self.old.number == previous
        is_archived = newest.source_end >= self.old.offset >= 0
        return is_continued and is_archived and newest.generation == self.old.number
