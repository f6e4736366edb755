"""What agents wrote, kept for ever: sources of sessions that rest go to the archive."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from datetime import timedelta
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
from leslied.model.source import Shape
from leslied.pipeline.failures import Failures, describe_error
from leslied.pipeline.progress import ignore_progress
from leslied.pipeline.source_reader import FIRST_CWD, load_state
from leslied.sessions.status import STOPPED_AFTER
from leslied.store.archive_ledger import ArchiveCursor
from leslied.store.session_metadata import ManifestRuns
from leslied.tail.files import iter_range, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leslied.archive import ArchiveFrame
    from leslied.clock import Clock
    from leslied.model.source import Cursor, Root, SourceRef
    from leslied.pipeline.progress import ProgressCallback
    from leslied.store import Store
    from leslied.store.archive_ledger import DueSource

_BATCH_SOURCES = 64
"""Sources noted in one transaction; what a crash leaves unnoted is recognised, and
a file whose name did not reach the disk is missed at the next run and made anew."""
_MICROSECOND = timedelta(microseconds=1)
_UNARCHIVED_SHAPES = (Shape.SQLITE, Shape.JSON_TREE, Shape.COMPRESSED_LOG)
"""No bytes of these are ours to keep: rows and the files of a tree change in place, and
a packed log is already what an archive would make of it."""


@dataclass(slots=True)
class ArchiverReport:
    """The work one run did."""

    sources: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    excluded: int = 0
    missing: int = 0
    has_more: bool = False
    """Whether some that are due were left for the next run."""
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiver:
    """The way from logs to the archive, for sessions that are settled or stopped."""

    store: Store
    archive_dir: Path
    """Where the archive stands."""
    roots: Mapping[str, tuple[Root, ...]]
    """Each agent's folders."""
    clock: Clock
    key_id: str = ""
    """Names the key of redaction marks."""
    is_excluded: Callable[[str, str], bool] = lambda _, __: False
    """Whether an agent's sessions in a folder are not to be kept; "" is unknown."""
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Told of the sources, some at a time."""

    def run(self, *, limit: int = 1_000_000) -> ArchiverReport:
        """Every byte that was read, of every session that rests, is in the archive.

        What is archived already costs a stat of its archive file, and no reading. Once
        `most` sources or a few more are done, the others wait for the next run.
        """
        self.delete_pruned_files()
        self._recheck_changed_files()
        report = self.archive_due(limit=limit)
        if not report.has_more:
            self.save_manifest(has_changes=report.sources > 0)
        return report

    def delete_pruned_files(self) -> int:
        """Archive files of sessions that were pruned are gone. Says how many were."""
        with self.store.archive() as archived:
            condemned = archived.list_pending_deletions()
        for _, file in condemned:
            (self.archive_dir / file).unlink(missing_ok=True)
            failpoint("sweep.half")
        if condemned:
            with self.store.archive() as archived:
                archived.mark_deleted(source for source, _ in condemned)
        return len(condemned)

    def archive_due(self, *, limit: int) -> ArchiverReport:
        """Some more of what is due is archived; nothing else is looked at."""
        report = ArchiverReport()
        quiet_us = _now_us(self.clock) - STOPPED_AFTER // _MICROSECOND
        with self.store.archive() as archived:
            archived.update_feeds()
            due = archived.list_due(quiet_us)
        folders: set[Path] = set()
        for start in range(0, len(due), _BATCH_SOURCES):
            if report.sources >= limit:
                report.has_more = True
                break
            with self.store.archive() as archived:
                some = archived.load_sources(due[start : start + _BATCH_SOURCES])
            kept = [self._try_archive(each, report) for each in some]
            self.on_progress(start + len(some), len(due))
            with self.store.archive() as archived:
                for each in filter(None, kept):
                    archived.save(each)
                    if each.file:
                        folders.add((self.archive_dir / each.file).parent)
        for folder in folders:
            archive.fsync_folder(folder)
        return report

    def _recheck_changed_files(self) -> None:
        """An archive file that is not as it was left is looked at again."""
        with self.store.archive() as archived:
            changed = [
                source
                for source, file, size in archived.iter_files()
                if not _has_size(self.archive_dir / file, size)
            ]
            for source in changed:
                archived.invalidate(source)

    def _try_archive(
        self, due: DueSource, report: ArchiverReport
    ) -> ArchiveCursor | None:
        """Archive one source; its error stays with it, a newer archive is raised."""
        name = os.fsdecode(due.path)
        if self.failures.is_paused("archive", name):
            return None
        try:
            kept = self._archive_source(due, report)
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
        return kept

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
        cursor = due.cursor
        where = (cursor.generation, cursor.offset, cursor.finished)
        with self.store.archive() as archived:
            if ref.shape in _UNARCHIVED_SHAPES or archived.is_pruned(due.source):
                # Noted all the same, so that it is not asked about again and again.
                file, size = (
                    (due.archive_cursor.file, due.archive_cursor.size)
                    if due.archive_cursor
                    else ("", -1)
                )
                return ArchiveCursor(due.source, *where, 0, 0, file, size)
            newest = archived.get_newest_placement()
            spills = archived.list_spills(
                due.source, due.archive_cursor.newest if due.archive_cursor else 0
            )
            file = self._choose_file_name(due, archived.is_taken)
        with ArchiveWriter(self.archive_dir / file) as writer:
            before = writer.size
            number = _SourceCopier(self, due, ref, writer, report).run()
            _add_spills(writer, number, spills)
            writer.sync()
            size = writer.size
        report.sources += 1
        report.bytes_written += max(size - before, 0)
        return ArchiveCursor(due.source, *where, number, newest, file, size)

    def _is_source_excluded(self, due: DueSource) -> bool:
        """The person keeps this project out, now or when it was read."""
        state = load_state(due.cursor.state)
        folders = {str(state[name]) for name in (FIRST_CWD, "cwd") if state.get(name)}
        if any(self.is_excluded(due.agent, folder) for folder in folders or {""}):
            return True
        with self.store.archive() as archived:
            return archived.is_excluded(due.source)

    def _choose_file_name(
        self, due: DueSource, is_taken: Callable[[str, int], bool]
    ) -> str:
        """The source's own archive file; a moved source keeps the one it had."""
        if due.archive_cursor and due.archive_cursor.file:
            return due.archive_cursor.file
        name, number = archive.make_file_name(due.agent, due.path), 1
        stem = name.removesuffix(".zst")
        while is_taken(name, due.source):
            number += 1
            name = f"{stem}-{number}.zst"
        return name

    def save_manifest(self, *, has_changes: bool) -> None:
        """The manifest holds every name that was given."""
        with self.store.metadata() as giving:
            mark = giving.compute_mark()
            is_told = giving.load_manifest_mark() == mark and archive.has_manifest(
                self.archive_dir
            )
            if is_told and not has_changes:
                return
            known = archive.load_manifest(self.archive_dir, ManifestRuns).sessions
            told = {
                "key_id": self.key_id,
                "created_us": giving.created_us(),
                "pruned": list(giving.tombstones.iter_all()),
            }
            archive.save_manifest(self.archive_dir, told, giving.iter_sessions(known))
        with self.store.metadata() as giving:
            giving.record_manifest_mark(mark)


@dataclass(frozen=True, slots=True)
class _SourceCopier:
    """One source's new bytes, on their way into its archive file."""

    archiver: Archiver
    due: DueSource
    ref: SourceRef
    writer: ArchiveWriter
    report: ArchiverReport

    def run(self) -> int:
        """The archive file holds all that was read. Says the generation's number.

        The checksum of all bytes that were read must come out: a log that was
        rewritten since waits until it is read again.
        """
        with open_regular(self.ref.path) as fd:
            if self.ref.shape is Shape.DOCUMENT:
                return self._add_document(fd)
            number = self._add_lines(fd)
            self._add_tail(fd, number)
            return number

    def _add_document(self, fd: int) -> int:
        cursor = self.due.cursor
        last = self.writer.find_last_frame(FrameKind.DOCUMENT)
        if last and (last.length, last.crc) == (cursor.offset, cursor.crc):
            return last.generation
        number = max(cursor.generation, last.generation + 1 if last else 1)
        label = self._make_label(
            FrameKind.DOCUMENT, number, 0, cursor.offset, 0, cursor.crc
        )
        self.writer.append(label, self._read(fd, 0, cursor.offset))
        return number

    def _add_lines(self, fd: int) -> int:
        """Lines after the last frame; bytes that do not continue it start anew."""
        cursor = self.due.cursor
        last = self._find_last_frame()
        if last and last.source_end <= cursor.offset:
            start, crc, number = last.source_end, last.running_crc, last.generation
            if (start, crc) == (cursor.offset, cursor.crc):
                return number
            try:
                return self._add_range(fd, number, start, crc)
            except ArchiveError as error:
                if self.due.archive_cursor and self.due.archive_cursor.offset >= 0:
                    raise error from None
        newest = self.writer.find_last_frame(*FrameKind)
        number = max(cursor.generation, newest.generation + 1 if newest else 1)
        return self._add_range(fd, number, 0, 0)

    def _find_last_frame(self) -> ArchiveFrame | None:
        """The frame to continue; none for a generation that is not archived yet."""
        kept = self.due.archive_cursor
        if kept is None:
            newest = self.writer.find_last_frame(*FrameKind)
            number = newest.generation if newest else 0
        elif kept.generation == self.due.cursor.generation:
            number = kept.number
        else:
            return None
        return self.writer.find_last_frame(FrameKind.LOG, generation=number)

    def _add_range(self, fd: int, number: int, start: int, crc: int) -> int:
        end = self.due.cursor.offset
        if end > start:
            length, after = end - start, self.due.cursor.crc
            label = self._make_label(FrameKind.LOG, number, start, length, crc, after)
            self.writer.append(label, self._read(fd, start, end))
        return number

    def _add_tail(self, fd: int, number: int) -> None:
        """A last line without its end that was taken as final."""
        start, end = self.due.cursor.offset, self.due.cursor.finished
        if end > start:
            label = self._make_label(
                FrameKind.TAIL, number, start, end - start, 0, None
            )
            self.writer.append(label, self._read(fd, start, end))

    def _make_label(
        self,
        kind: FrameKind,
        number: int,
        offset: int,
        length: int,
        crc: int,
        crc_after: int | None,
    ) -> FrameSpec:
        told = _describe_source(self.ref, self.due.cursor, self.due.first_placement)
        if self.ref.side_file:
            told["beside"] = tail.read_side_file(self.ref, self.archiver.limits)
        return FrameSpec(
            kind=kind,
            generation=number,
            offset=offset,
            length=length,
            crc_before=crc,
            crc_after=crc_after,
            metadata=told,
        )

    def _read(self, fd: int, start: int, end: int) -> Iterator[bytes]:
        for data in iter_range(fd, start, end, self.archiver.limits.chunk):
            self.report.bytes_read += len(data)
            yield data


def _describe_source(ref: SourceRef, cursor: Cursor, first: int) -> dict[str, Any]:
    """All that is needed to decode the bytes again without the file."""
    stamp = cursor.stamp or ref.stamp
    return {
        "agent": ref.agent,
        "path": _encode_path(ref.path),
        "root": _encode_path(ref.root),
        "shape": ref.shape.value,
        "stamp": [stamp.dev, stamp.inode, stamp.size, stamp.mtime_ns, stamp.ctime_ns],
        "order": first,
    }


def _encode_path(path: Path) -> str:
    """A path may hold any bytes, and JSON may not."""
    return base64.b64encode(os.fsencode(path)).decode()


def _add_spills(
    writer: ArchiveWriter, number: int, spills: list[tuple[str, str]]
) -> None:
    """Results the agent kept in files of their own stand beside their log."""
    for metadata, text in spills:
        name = msgspec.json.decode(metadata).get("spill")
        data = text.encode(errors="surrogatepass")
        told = {"spill": name}
        label = FrameSpec(
            kind=FrameKind.SPILL, generation=number, length=len(data), metadata=told
        )
        writer.append(label, [data])


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _now_us(clock: Clock) -> int:
    return int(clock.now().timestamp() * 1e6)
