"""The archive stage: copy the source bytes of idle and stopped sessions.

Frames, checksums and the manifest's format belong to `leslied.archive`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import archive, tail
from leslied.errors import SourceError, StoreUnusable, describe_error
from leslied.failpoints import failpoint
from leslied.fs import sync_folder
from leslied.model.source import Shape
from leslied.model.times import to_us
from leslied.pipeline.failures import Failures
from leslied.pipeline.ingest.exclude import list_session_folders, make_exclude_predicate
from leslied.pipeline.progress import ignore_progress
from leslied.pipeline.stage import FULL_BUDGET, Stage, Timing
from leslied.pipeline.stages.archive_frames import ArchiverReport
from leslied.sessions.status import compute_stop_cutoff_us
from leslied.store.ledgers.archive import ArchiveCursor
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from leslied.archive import ArchiveWriter
    from leslied.clock import Clock
    from leslied.config import Settings
    from leslied.model.source import Root, SourceRef
    from leslied.pipeline.ingest.decode import Mask
    from leslied.pipeline.progress import ProgressCallback
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.pipeline.stages.archive_copies import CopyOutcome, SourceCopy
    from leslied.store import Store
    from leslied.store.ledgers.archive import DueSource

_BATCH_SOURCES = 64
"""Sources recorded in one transaction. After a crash, frames that were not recorded are
recognised, and a file that did not reach the disk is written again at the next run."""
_UNARCHIVED_SHAPES = (
    Shape.SQLITE,
    Shape.JSON_TREE,
    Shape.EVENT_TREE,
    Shape.CHECKPOINT_STORE,
    Shape.COMPRESSED_LOG,
)
"""Shapes that are not archived: rows and the files of a tree change in place, and a
compressed log would not become smaller in the archive."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Archiver(Stage):
    """The archive stage, for idle and stopped sessions."""

    store: Store
    archive_dir: Path
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    clock: Clock
    key_id: str = ""
    """Id of the redaction key, for the manifest."""
    is_excluded: Callable[[str, str], bool] = lambda _, __: False
    """Predicate of agent and folder, true if excluded; "" is an unknown folder."""
    mask: Mask | None = None
    """Replaces secrets before anything is stored; None to store the log's own text."""
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Called with sources done and total, after each batch."""

    name = "archive"
    timing = Timing.AFTER_SCAN
    activity = "Archiving logs"

    @classmethod
    def make(cls, context: StageContext) -> Archiver:
        """Make the stage."""
        roots = {adapter.name: tuple(roots) for adapter, roots in context.agents}
        return cls(
            store=context.store,
            archive_dir=context.paths.archive_dir,
            roots=roots,
            clock=context.clock,
            key_id=context.redactor.key_id,
            is_excluded=_make_exclude_predicate(context.settings, roots),
            mask=context.mask,
            failures=context.failures,
            on_progress=context.on_progress,
        )

    def run(self, budget: Budget = FULL_BUDGET) -> ArchiverReport:
        """Archive the bytes that were read from the logs of idle and stopped sessions.

        A full scan also checks the files of the archive: a source that is archived
        already costs one stat.
        """
        if not budget.includes_backlog:
            return ArchiverReport(has_more=True)
        if budget.is_scan:
            self.delete_pruned_files()
            self._mark_changed_files_due()
        report = self._archive_due(budget)
        if not report.has_more:
            self.save_manifest(has_changes=report.sources > 0)
        return report

    def delete_pruned_files(self) -> int:
        """Delete the archive files of pruned sessions; return their number."""
        with self.store.archive() as ledger:
            deletions = ledger.list_pending_deletions()
        for _, file in deletions:
            (self.archive_dir / file).unlink(missing_ok=True)
            failpoint("archive.delete")
        if deletions:
            with self.store.archive() as ledger:
                ledger.mark_deleted(source for source, _ in deletions)
        return len(deletions)

    def _archive_due(self, budget: Budget) -> ArchiverReport:
        """Archive due sources, until the budget is used up."""
        report = ArchiverReport()
        quiet_since_us = compute_stop_cutoff_us(self.clock.now())
        with self.store.archive() as ledger:
            ledger.update_feeds()
            due = ledger.list_due(quiet_since_us)
        folders: set[Path] = set()
        for start in range(0, len(due), _BATCH_SOURCES):
            is_used_up = report.sources >= budget.max_archived_sources
            if is_used_up or (start and budget.should_yield()):
                report.has_more = True
                break
            if start:
                self.store.flush()
            with self.store.archive() as ledger:
                batch = ledger.load_sources(due[start : start + _BATCH_SOURCES])
            cursors = self._archive_sources(batch, report)
            self.on_progress(start + len(batch), len(due))
            with self.store.archive() as ledger:
                for cursor in cursors:
                    ledger.save(cursor)
                    if cursor.file:
                        folders.add((self.archive_dir / cursor.file).parent)
        for folder in folders:
            sync_folder(folder)
        return report

    def _mark_changed_files_due(self) -> None:
        """Mark sources whose archive file was changed, to archive or verify them again.

        A file that lost bytes is completed from its log. If the log is gone, the
        archive check compares the file with its recorded size.
        """
        with self.store.archive() as ledger:
            for file in list(ledger.iter_files()):
                size, mtime_ns = _stat_file(f"{self.archive_dir}/{file.file}")
                if size != file.size and not file.is_log_gone:
                    ledger.invalidate(file.source)
                elif file.is_verified and (size, mtime_ns) != (
                    file.size,
                    file.mtime_ns,
                ):
                    ledger.mark_unverified(file.source)

    def _archive_sources(
        self, batch: Sequence[DueSource], report: ArchiverReport
    ) -> list[ArchiveCursor]:
        """Archive sources; return the archive cursors of those that succeeded.

        Add errors of a source to the report. Raise ArchiveVersionError for an archive
        of a newer version, and StoreUnusable.
        """
        cursors: list[ArchiveCursor] = []
        copies: list[SourceCopy] = []
        for due in batch:
            if self.failures.is_paused("archive", os.fsdecode(due.path)):
                continue
            with self._recorded_errors(due, report):
                planned = self._plan_source(due, report)
                if planned is None or isinstance(planned, ArchiveCursor):
                    cursors += [planned] if planned else []
                    self.failures.clear("archive", os.fsdecode(due.path))
                elif planned.spills:
                    # These texts can be large: copy them before others are loaded.
                    cursors += self._run_copies([planned], report)
                else:
                    copies.append(planned)
        return [*cursors, *self._run_copies(copies, report)]

    @contextmanager
    def _recorded_errors(
        self, due: DueSource, report: ArchiverReport
    ) -> Iterator[None]:
        """Add an error of this source to the report, and record an unexpected one."""
        name = os.fsdecode(due.path)
        try:
            yield
        except (archive.ArchiveVersionError, StoreUnusable):
            raise
        except (archive.ArchiveError, SourceError) as error:
            report.errors[name] = error.message
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            reason = describe_error(error)
            report.errors[name] = self.failures.record("archive", name, reason)

    def _plan_source(
        self, due: DueSource, report: ArchiverReport
    ) -> SourceCopy | ArchiveCursor | None:
        """Return what to copy, a cursor if nothing must be copied, or None to skip."""
        ref = self._find_log(due, report)
        if ref is None:
            return None
        if self._is_sealed(due, ref):
            # With this cursor, of size -1 if there is no file, the source is not due.
            cursor, old = due.cursor, due.archive_cursor
            position = (cursor.generation, cursor.offset, cursor.finished_size)
            file, size = (old.file, old.size) if old else ("", -1)
            return ArchiveCursor(
                due.source, *position, number=0, newest=0, file=file, size=size
            )
        with self.store.archive() as ledger:
            file = self._choose_file_name(due, ledger.is_taken)
        return self._make_copy(due, ref, file)

    def _make_copy(self, due: DueSource, ref: SourceRef, file: str) -> SourceCopy:
        from leslied.pipeline.stages.archive_copies import SourceCopy  # noqa: PLC0415

        newest = due.archive_cursor.newest if due.archive_cursor else 0
        with self.store.archive() as ledger:
            return SourceCopy(
                due=due,
                ref=ref,
                folder=self.archive_dir,
                file=file,
                newest=ledger.get_newest_placement(),
                spills=ledger.list_spills(due.source, newest),
            )

    def _run_copies(
        self, copies: Sequence[SourceCopy], report: ArchiverReport
    ) -> list[ArchiveCursor]:
        """Copy the sources; return the archive cursors of those that succeeded."""
        from leslied.pipeline.stages.archive_copies import run_copies  # noqa: PLC0415

        cursors = []
        for copy, outcome in run_copies(copies, self.limits, self.mask):
            with self._recorded_errors(copy.due, report):
                cursors.append(self._finish_copy(copy, outcome, report))
                self.failures.clear("archive", copy.name)
        return cursors

    def _finish_copy(
        self, copy: SourceCopy, outcome: CopyOutcome, report: ArchiverReport
    ) -> ArchiveCursor:
        """Return the new cursor of a source; raise the error of its copy, if any."""
        report.bytes_read += outcome.bytes_read
        if outcome.error:
            raise outcome.error
        report.sources += 1
        report.bytes_written += max(outcome.size - outcome.old_size, 0)
        cursor, old = copy.due.cursor, copy.due.archive_cursor
        is_intact = not outcome.old_size or bool(old and old.size == outcome.old_size)
        return ArchiveCursor(
            source=copy.due.source,
            generation=cursor.generation,
            offset=cursor.offset,
            finished=cursor.finished_size,
            number=outcome.generation,
            newest=copy.newest,
            file=copy.file,
            size=outcome.size,
            mtime_ns=outcome.mtime_ns,
            verified_us=self._find_verified_time(old) if is_intact else 0,
        )

    def add_missing(
        self, due: DueSource, writer: ArchiveWriter
    ) -> ArchiveCursor | None:
        """Append the missing bytes to a copy of the source's archive file.

        Return None if the log is gone, has changed, or must not be archived any more.
        """
        report = ArchiverReport()
        try:
            ref = self._find_log(due, report)
            if ref is None or due.archive_cursor is None or self._is_sealed(due, ref):
                return None
            copy = self._make_copy(due, ref, due.archive_cursor.file)
            outcome = copy.append_to(writer, self.limits, self.mask)
            return self._finish_copy(copy, outcome, report)
        except (archive.SourceChangedError, SourceError):
            return None

    def _find_log(self, due: DueSource, report: ArchiverReport) -> SourceRef | None:
        """Return the log, or None if it is excluded or missing, which is counted."""
        if self._is_source_excluded(due):
            report.excluded += 1
            return None
        path = Path(os.fsdecode(due.path))
        ref = tail.find_source(due.agent, self.roots.get(due.agent, ()), path)
        if ref is None:
            report.missing += 1
        return ref

    def _is_sealed(self, due: DueSource, ref: SourceRef) -> bool:
        """Return whether no more of the source may be archived."""
        if ref.shape in _UNARCHIVED_SHAPES or self._has_forgotten_lines(due, ref):
            return True
        with self.store.archive() as ledger:
            return ledger.is_pruned(due.source)

    def _find_verified_time(self, old: ArchiveCursor | None) -> int:
        """Return when a file was last verified; a new one counts as verified now."""
        return old.verified_us if old and old.size > 0 else to_us(self.clock.now())

    def _has_forgotten_lines(self, due: DueSource, ref: SourceRef) -> bool:
        """Return whether the log contains a raw line that the user forgot."""
        forgotten = self.store.forgotten
        if not forgotten.has_lines or ref.shape is not Shape.APPEND_LOG:
            return False
        with open_regular(ref.path) as fd:
            chunks = iter_range(fd, 0, due.cursor.offset, self.limits.chunk)
            lines = archive.split_lines(chunks)
            return any(forgotten.has_line(line.data) for line in lines)

    def _is_source_excluded(self, due: DueSource) -> bool:
        """Return whether the project is excluded now or was when its log was read."""
        folders = list_session_folders(due.cursor.state)
        if any(self.is_excluded(due.agent, folder) for folder in folders or {""}):
            return True
        with self.store.archive() as ledger:
            return ledger.is_excluded(due.source)

    def _choose_file_name(
        self, due: DueSource, is_taken: Callable[[str, int], bool]
    ) -> str:
        """Return the name of the archive file; a moved source keeps its file."""
        if due.archive_cursor and due.archive_cursor.file:
            return due.archive_cursor.file
        name, number = archive.make_file_name(due.agent, due.path), 1
        stem = name.removesuffix(".zst")
        while is_taken(name, due.source):
            number += 1
            name = f"{stem}-{number}.zst"
        return name

    def save_manifest(self, *, has_changes: bool) -> None:
        """Write the manifest unless it is up to date and `has_changes` is false."""
        from leslied.store.ledgers.metadata import ManifestRuns  # noqa: PLC0415

        with self.store.metadata() as ledger:
            fingerprint = ledger.compute_fingerprint()
            saved = ledger.load_manifest_fingerprint()
            is_current = saved == fingerprint and archive.has_manifest(self.archive_dir)
            if is_current and not has_changes:
                return
            old = archive.load_manifest(self.archive_dir, ManifestRuns).sessions
            header = {
                "key_id": self.key_id,
                "created_us": ledger.get_created_us(),
                "pruned": list(ledger.tombstones.iter_all()),
            }
            archive.save_manifest(self.archive_dir, header, ledger.iter_sessions(old))
        with self.store.metadata() as ledger:
            ledger.record_manifest_fingerprint(fingerprint)


def _make_exclude_predicate(
    settings: Settings, agents: Iterable[str]
) -> Callable[[str, str], bool]:
    """Return a predicate of agent and folder, true if a source must not be archived.

    If folders are excluded, a source of an unknown folder is not archived either.
    """
    predicates = {agent: make_exclude_predicate(settings, agent) for agent in agents}

    def is_excluded(agent: str, cwd: str) -> bool:
        predicate = predicates[agent]
        return predicate is not None and (not cwd or predicate(cwd))

    return is_excluded


def _stat_file(path: str) -> tuple[int, int]:
    """Return size and modification time of a file; (-1, 0) if it is missing."""
    try:
        status = os.stat(path)  # noqa: PTH116 - called for every file
    except OSError:
        return (-1, 0)
    return (status.st_size, status.st_mtime_ns)
