"""The archive stage: copy the source bytes of idle and stopped sessions.

Frames, checksums and the manifest's format belong to `leslied.archive`.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from leslied import archive, tail
from leslied.archive import (
    ArchiveError,
    ArchiveVersionError,
    ArchiveWriter,
    FrameKind,
    FrameSpec,
)
from leslied.errors import SourceError, StoreUnusable
from leslied.failpoints import failpoint
from leslied.fs import sync_folder
from leslied.model.source import Shape
from leslied.pipeline.failures import Failures, describe_error
from leslied.pipeline.ingest.source_reader import FIRST_CWD, parse_state
from leslied.pipeline.progress import ignore_progress
from leslied.sessions.status import compute_stop_cutoff_us
from leslied.store.ledgers.archive import ArchiveCursor
from leslied.store.ledgers.metadata import ManifestRuns
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leslied.archive import ArchiveFrame
    from leslied.clock import Clock
    from leslied.model.source import Cursor, Root, SourceRef
    from leslied.pipeline.progress import ProgressCallback
    from leslied.store import Store
    from leslied.store.ledgers.archive import DueSource

_BATCH_SOURCES = 64
"""Sources recorded in one transaction. After a crash, frames that were not recorded are
recognised, and a file that did not reach the disk is written again at the next run."""
_UNARCHIVED_SHAPES = (Shape.SQLITE, Shape.JSON_TREE, Shape.COMPRESSED_LOG)
"""Shapes that are not archived: rows and the files of a tree change in place, and a
compressed log would not become smaller in the archive."""


@dataclass(slots=True)
class ArchiverReport:
    """Counts and errors of one run."""

    sources: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    excluded: int = 0
    missing: int = 0
    """Sources that no longer exist below a root."""
    has_more: bool = False
    """Whether due sources are left for the next run."""
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiver:
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
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Called with sources done and total, after each batch."""

    def run(self, *, limit: int = 1_000_000) -> ArchiverReport:
        """Archive what was read from the logs of idle and stopped sessions.

        A source that is archived already costs one stat of its archive file. The run
        ends after about `limit` sources; the next run archives the others.
        """
        self.delete_pruned_files()
        self._mark_changed_files_due()
        report = self.archive_due(limit=limit)
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

    def archive_due(self, *, limit: int) -> ArchiverReport:
        """Archive about `limit` due sources, without the other steps of `run`."""
        report = ArchiverReport()
        quiet_since_us = compute_stop_cutoff_us(self.clock.now())
        with self.store.archive() as ledger:
            ledger.update_feeds()
            due = ledger.list_due(quiet_since_us)
        folders: set[Path] = set()
        for start in range(0, len(due), _BATCH_SOURCES):
            if report.sources >= limit:
                report.has_more = True
                break
            with self.store.archive() as ledger:
                batch = ledger.load_sources(due[start : start + _BATCH_SOURCES])
            cursors = [self._try_archive(source, report) for source in batch]
            self.on_progress(start + len(batch), len(due))
            with self.store.archive() as ledger:
                for cursor in filter(None, cursors):
                    ledger.save(cursor)
                    if cursor.file:
                        folders.add((self.archive_dir / cursor.file).parent)
        for folder in folders:
            sync_folder(folder)
        return report

    def _mark_changed_files_due(self) -> None:
        """Mark as due all sources whose archive file is missing or has another size."""
        with self.store.archive() as ledger:
            changed = [
                source
                for source, file, size in ledger.iter_files()
                if not _has_size(self.archive_dir / file, size)
            ]
            for source in changed:
                ledger.invalidate(source)

    def _try_archive(
        self, due: DueSource, report: ArchiverReport
    ) -> ArchiveCursor | None:
        """Archive one source; return its archive cursor, or None if it was skipped.

        Errors of this source are added to the report. An archive of a newer version
        and an unusable store are raised.
        """
        name = os.fsdecode(due.path)
        if self.failures.is_paused("archive", name):
            return None
        try:
            cursor = self._archive_source(due, report)
        except (ArchiveVersionError, StoreUnusable):
            raise
        except (ArchiveError, SourceError) as error:
            report.errors[name] = error.message
            return None
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            reason = describe_error(error)
            report.errors[name] = self.failures.record("archive", name, reason)
            return None
        self.failures.clear("archive", name)
        return cursor

    def _archive_source(
        self, due: DueSource, report: ArchiverReport
    ) -> ArchiveCursor | None:
        if self._is_source_excluded(due):
            report.excluded += 1
            return None
        path = Path(os.fsdecode(due.path))
        ref = tail.find_source(due.agent, self.roots.get(due.agent, ()), path)
        if ref is None:
            report.missing += 1
            return None
        cursor, old = due.cursor, due.archive_cursor
        position = (cursor.generation, cursor.offset, cursor.finished_size)
        with self.store.archive() as ledger:
            if ref.shape in _UNARCHIVED_SHAPES or ledger.is_pruned(due.source):
                # Record a cursor, so that the source is not due again at every run.
                file, size = (old.file, old.size) if old else ("", -1)
                return ArchiveCursor(
                    due.source, *position, number=0, newest=0, file=file, size=size
                )
            newest = ledger.get_newest_placement()
            spills = ledger.list_spills(due.source, old.newest if old else 0)
            file = self._choose_file_name(due, ledger.is_taken)
        with ArchiveWriter(self.archive_dir / file) as writer:
            old_size = writer.size
            generation = _SourceCopier(self, due, ref, writer, report).run()
            _add_spills(writer, generation, spills)
            writer.sync()
            size = writer.size
        report.sources += 1
        report.bytes_written += max(size - old_size, 0)
        return ArchiveCursor(due.source, *position, generation, newest, file, size)

    def _is_source_excluded(self, due: DueSource) -> bool:
        """Return whether the project is excluded now or was when its log was read."""
        state = parse_state(due.cursor.state)
        folders = {str(state[name]) for name in (FIRST_CWD, "cwd") if state.get(name)}
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


@dataclass(frozen=True, slots=True)
class _SourceCopier:
    """Copier of one source's new bytes; its generations are those of the archive."""

    archiver: Archiver
    due: DueSource
    ref: SourceRef
    writer: ArchiveWriter
    report: ArchiverReport

    def run(self) -> int:
        """Append all bytes up to the cursor; return their generation in the archive.

        Raise ArchiveError if the bytes do not match the cursor's checksum: the log was
        rewritten and must be read again first.
        """
        with open_regular(self.ref.path) as fd:
            if self.ref.shape is Shape.DOCUMENT:
                return self._add_document(fd)
            generation = self._add_lines(fd)
            self._add_tail(fd, generation)
            return generation

    def _add_document(self, fd: int) -> int:
        cursor = self.due.cursor
        last = self.writer.find_last_frame(FrameKind.DOCUMENT)
        if last and (last.length, last.crc) == (cursor.offset, cursor.crc):
            return last.generation
        generation = max(cursor.generation, last.generation + 1 if last else 1)
        spec = self._make_spec(
            FrameKind.DOCUMENT, generation, 0, cursor.offset, 0, cursor.crc
        )
        self.writer.append(spec, self._read(fd, 0, cursor.offset))
        return generation

    def _add_lines(self, fd: int) -> int:
        """Append the lines after the last frame, or all if they do not continue it."""
        cursor = self.due.cursor
        last = self._find_last_frame()
        if last and last.source_end <= cursor.offset:
            start, crc, generation = last.source_end, last.running_crc, last.generation
            if (start, crc) == (cursor.offset, cursor.crc):
                return generation
            try:
                return self._add_range(fd, generation, start, crc)
            except ArchiveError as error:
                # With an archive cursor, the log was rewritten after it was read, and
                # waits for the next read. Without one, the frame is of an older log.
                if self.due.archive_cursor and self.due.archive_cursor.offset >= 0:
                    raise error from None
        newest = self.writer.find_last_frame(*FrameKind)
        generation = max(cursor.generation, newest.generation + 1 if newest else 1)
        return self._add_range(fd, generation, 0, 0)

    def _find_last_frame(self) -> ArchiveFrame | None:
        """Return the frame to continue, or None for a generation without frames."""
        archive_cursor = self.due.archive_cursor
        if archive_cursor is None:
            newest = self.writer.find_last_frame(*FrameKind)
            generation = newest.generation if newest else 0
        elif archive_cursor.generation == self.due.cursor.generation:
            generation = archive_cursor.number
        else:
            return None
        return self.writer.find_last_frame(FrameKind.LOG, generation=generation)

    def _add_range(self, fd: int, generation: int, start: int, crc: int) -> int:
        end = self.due.cursor.offset
        if end > start:
            size, end_crc = end - start, self.due.cursor.crc
            spec = self._make_spec(FrameKind.LOG, generation, start, size, crc, end_crc)
            self.writer.append(spec, self._read(fd, start, end))
        return generation

    def _add_tail(self, fd: int, generation: int) -> None:
        """Append an incomplete last line if it was read as final."""
        start, end = self.due.cursor.offset, self.due.cursor.finished_size
        length = end - start
        if length > 0:
            spec = self._make_spec(FrameKind.TAIL, generation, start, length, 0, None)
            self.writer.append(spec, self._read(fd, start, end))

    def _make_spec(
        self,
        kind: FrameKind,
        generation: int,
        offset: int,
        length: int,
        crc_before: int,
        crc_after: int | None,
    ) -> FrameSpec:
        metadata = _describe_source(self.ref, self.due.cursor, self.due.first_placement)
        if self.ref.side_file:
            metadata["beside"] = tail.read_side_file(self.ref, self.archiver.limits)
        return FrameSpec(
            kind=kind,
            generation=generation,
            offset=offset,
            length=length,
            crc_before=crc_before,
            crc_after=crc_after,
            metadata=metadata,
        )

    def _read(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        for data in iter_range(fd, start, end, self.archiver.limits.chunk):
            self.report.bytes_read += len(data)
            yield data


def _describe_source(
    ref: SourceRef, cursor: Cursor, first_placement: int
) -> dict[str, Any]:
    """Return the metadata needed to decode the bytes again without the file."""
    stamp = cursor.stamp or ref.stamp
    return {
        "agent": ref.agent,
        "path": _encode_path(ref.path),
        "root": _encode_path(ref.root),
        "shape": ref.shape.value,
        "stamp": [stamp.dev, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns],
        "order": first_placement,
    }


def _encode_path(path: Path) -> str:
    """Return a path as Base64, because JSON cannot hold arbitrary bytes."""
    return base64.b64encode(os.fsencode(path)).decode()


def _add_spills(
    writer: ArchiveWriter, generation: int, spills: list[tuple[str, str]]
) -> None:
    """Append the tool results that the agent stored in separate files."""
    for metadata, text in spills:
        name = msgspec.json.decode(metadata).get("spill")
        data = text.encode(errors="surrogatepass")
        spec = FrameSpec(
            kind=FrameKind.SPILL,
            generation=generation,
            length=len(data),
            metadata={"spill": name},
        )
        writer.append(spec, [data])


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
