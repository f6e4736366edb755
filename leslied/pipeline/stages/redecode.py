"""The redecode stage: decode again the sources that an older decoder read.

An adapter's `decoder_version` rises when it decodes an entry differently. Every source
that an older version read is then decoded once more: from the log, or from the archive
if the log is gone. A log that has changed is read first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from leslied import archive, sinks, tail
from leslied.errors import SourceError
from leslied.failpoints import failpoint
from leslied.model.source import Cursor, Shape
from leslied.pipeline.failures import Failures
from leslied.pipeline.ingest.exclude import FIRST_CWD, list_session_folders, parse_state
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage, Timing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.source import SourceRef
    from leslied.pipeline.ingest.stage import Ingest
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import Store
    from leslied.store.ledgers.archive import ArchiveCursor, DueSource
    from leslied.store.write.redecode import Redecode

_BATCH_SOURCES = 50
"""Due sources that are listed in one query."""
_MIN_SOURCE_BYTES = 64 * 1024
"""Bytes of the budget that each source costs at least."""
_MUTABLE_SHAPES = (
    Shape.SQLITE,
    Shape.JSON_TREE,
    Shape.EVENT_TREE,
    Shape.CHECKPOINT_STORE,
)
"""Shapes in which agents delete entries; the store keeps the deleted ones."""


class RedecodeReport(Report, kw_only=True):
    """Counts and errors of one run."""

    sources: int = 0
    """Sources that were decoded again."""
    entries: int = 0
    bytes_read: int = 0
    sessions_changed: int = 0
    impossible: int = 0
    """Sources that exist neither as a log nor in the archive, or are excluded."""
    files_removed: int = 0
    """Transcripts of units that no longer exist."""

    event = "redecode.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {
            "logs": self.sources,
            "entries": self.entries,
            "sessions": self.sessions_changed,
            "impossible": self.impossible,
        }

    @property
    def has_changes(self) -> bool:
        """Return whether later stages may have new work."""
        return self.sessions_changed > 0


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RedecodeStage(Stage):
    """The redecode stage. Each source is replaced in one transaction."""

    store: Store
    ingests: Sequence[Ingest]
    archive_dir: Path
    failures: Failures = field(default_factory=Failures)
    _positions: dict[str, int] = field(default_factory=dict)
    """Where the next run continues: the last source that was tried, by agent. Sources
    that cannot be decoded now must not hold up the others."""

    name = "redecode"
    timing = Timing.AFTER_SCAN

    @classmethod
    def make(cls, context: StageContext, ingests: Sequence[Ingest]) -> RedecodeStage:
        """Make the stage for the agents of these ingest stages."""
        return cls(
            store=context.store,
            ingests=ingests,
            archive_dir=context.paths.archive_dir,
            failures=context.failures,
        )

    def adopt(self, previous: RedecodeStage) -> None:
        """Continue where the previous stage ended."""
        self._positions = previous._positions

    def run(self, budget: Budget = FULL_BUDGET) -> RedecodeReport:
        """Decode again the sources that an older decoder read, within the budget.

        Nothing is due unless a decoder's version rose; finding that out costs one
        query for each agent.
        """
        if not (budget.includes_backlog or budget.is_scan):
            return RedecodeReport(has_more=True)
        report = RedecodeReport()
        remaining = budget.max_redecoded_bytes
        is_anything_due = False
        for ingest, source in self._iter_due():
            is_anything_due = True
            if remaining <= 0:
                report.has_more = True
                break
            bytes_before = report.bytes_read
            self._decode(ingest, source, report)
            remaining -= max(report.bytes_read - bytes_before, _MIN_SOURCE_BYTES)
        if not is_anything_due:
            for name in self.failures.list_names("redecode"):
                self.failures.clear("redecode", name)
        return report

    def _iter_due(self) -> Iterator[tuple[Ingest, int]]:
        """Yield the due sources of each agent, after the one that was yielded last."""
        for ingest in self.ingests:
            # The predicate is true for "" if the agent is disabled.
            if ingest.is_excluded is not None and ingest.is_excluded(""):
                continue
            agent, version = ingest.adapter.name, ingest.adapter.decoder_version
            while sources := self._list_due(agent, version):
                for source in sources:
                    yield ingest, source
                    self._positions[agent] = source
            self._positions.pop(agent, None)

    def _list_due(self, agent: str, version: int) -> list[int]:
        after = self._positions.get(agent, 0)
        with self.store.decoder_versions() as ledger:
            return ledger.list_due(agent, version, after, _BATCH_SOURCES)

    def _decode(self, ingest: Ingest, source: int, report: RedecodeReport) -> None:
        with self.store.archive() as ledger:
            (due,) = ledger.load_sources([source])
        work = _Job(self, ingest, due, report).run
        self.failures.attempt("redecode", os.fsdecode(due.path), work, report.errors)


class _Job(Struct, eq=False):
    """Decoding of one source."""

    stage: RedecodeStage
    ingest: Ingest
    due: DueSource
    report: RedecodeReport

    @property
    def _version(self) -> int:
        return self.ingest.adapter.decoder_version

    def run(self) -> None:
        """Decode the source again, from the log or the archive.

        If that is not possible or not allowed, mark it so that it is not tried again.
        """
        path = Path(os.fsdecode(self.due.path))
        source = tail.find_source(self.due.agent, self.ingest.roots, path)
        if self._is_excluded(source):
            self._mark_impossible()
        elif source and source.stamp == self.due.cursor.stamp:
            self._decode_log(source)
        elif source is None and self._is_gone():
            self._decode_archive()
        # Otherwise the log has changed or vanished since the last scan. The source
        # stays due until the next scan has noticed that.

    def _is_gone(self) -> bool:
        with self.stage.store.decoder_versions() as ledger:
            return ledger.is_gone(self.due.source)

    def _is_excluded(self, source: SourceRef | None) -> bool:
        """Return whether the project is excluded now or was when its log was read.

        With any exclusion, a log of an unknown project counts as excluded. The rows of
        a shared database are excluded one by one when they are decoded.
        """
        if source and source.shape is Shape.SQLITE:
            return False
        with self.stage.store.archive() as ledger:
            if ledger.is_excluded(self.due.source):
                return True
        if self.ingest.is_excluded is None:
            return False
        folders = list_session_folders(self.due.cursor.state)
        return not folders or any(map(self.ingest.is_excluded, folders))

    def _mark_impossible(self) -> None:
        """Record that this version cannot decode the source, so that it is not due."""
        self.report.impossible += 1
        with self.stage.store.decoder_versions() as ledger:
            ledger.mark_impossible(self.due.source, self._version)

    def _decode_log(self, source: SourceRef) -> None:
        """Decode the log from its beginning up to the cursor.

        Raise SourceError if the log does not contain the bytes that were read before.
        """
        from leslied.store.write.session_refold import Coverage  # noqa: PLC0415

        cursor = self.due.cursor
        # With generation 0, stored entries that are missing now are not removed.
        has_stable_entries = source.shape not in _MUTABLE_SHAPES
        coverage = Coverage(
            cursor.generation if has_stable_entries else 0,
            max(cursor.offset, cursor.finished_size),
        )
        last = Cursor()
        with self.stage.store.redecode(self.due.source, self._version) as target:
            for chunk in self._read_log(source):
                self._add(target, chunk)
                last = chunk.cursor
            if has_stable_entries and _get_position(last) != _get_position(cursor):
                raise SourceError("changed while it was decoded again")
            target.finish(coverage, self._keep_first_folder(last.state))
            failpoint("redecode.before")
        self._complete(target)

    def _read_log(self, source: SourceRef) -> Iterator[DecodedChunk]:
        """Yield the decoded chunks of the whole log."""
        is_shared = source.shape is Shape.SQLITE
        is_excluded = self.ingest.is_excluded if is_shared else None
        ingest = replace(self.ingest, is_excluded=is_excluded)
        reader = ingest.make_source_reader(self._load_saved_state)
        start = Cursor(generation=self.due.cursor.generation)
        state = reader.load_state(source, start)
        # `finished_size` is -1 unless an incomplete last line was accepted. If one was,
        # accept it again.
        is_final = self.due.cursor.finished_size >= 0
        for chunk in tail.read(source, start, ingest.limits, is_final=is_final):
            decoded, state = reader.decode(source, chunk, state)
            yield decoded

    def _load_saved_state(self, path: bytes) -> str:
        cursor = self.stage.store.find_cursor(self.due.agent, path)
        return cursor.state if cursor else ""

    def _keep_first_folder(self, state: str) -> str:
        """Return the state with the folder where the session began, if it is known."""
        saved = parse_state(self.due.cursor.state)
        if FIRST_CWD not in saved:
            return state
        merged = {**parse_state(state), FIRST_CWD: saved[FIRST_CWD]}
        return msgspec.json.encode(merged).decode()

    def _decode_archive(self) -> None:
        """Decode the archived bytes; without any, mark the source as impossible."""
        archive_cursor = self.due.archive_cursor
        # The size is negative if the file is missing, has changed, or must be deleted.
        if archive_cursor is None or not archive_cursor.file or archive_cursor.size < 0:
            self._mark_impossible()
            return
        path = self.stage.archive_dir / archive_cursor.file
        scratch_file = self.stage.archive_dir / ".redecode"
        try:
            with archive.ArchiveReader(path) as reader:
                self._decode_frames(reader, archive_cursor, scratch_file)
        except archive.ArchiveError:
            self._mark_impossible()
        finally:
            scratch_file.unlink(missing_ok=True)

    def _decode_frames(
        self,
        reader: archive.ArchiveReader,
        archive_cursor: ArchiveCursor,
        scratch_file: Path,
    ) -> None:
        """Decode all generations; raise ArchiveError if any byte is damaged."""
        from leslied.pipeline.maintenance.archive_replay import (  # noqa: PLC0415
            ArchiveReplay,
            restore_source,
        )
        from leslied.store.write.session_refold import Coverage  # noqa: PLC0415

        frames = [f for f in reader.frames if f.kind != archive.FrameKind.SPILL]
        if not frames or reader.damaged_offsets:
            raise archive.ArchiveError(f"{reader.path}: bytes are missing")
        ingest = replace(self.ingest, is_excluded=None)
        replay = ArchiveReplay(ingest, scratch_file)
        # With generation 0, stored entries that are missing now are not removed.
        is_newest = archive_cursor.generation == self.due.cursor.generation
        coverage = Coverage(
            archive_cursor.generation if is_newest else 0,
            max(archive_cursor.offset, archive_cursor.finished),
        )
        with self.stage.store.redecode(self.due.source, self._version) as target:
            for chunk in replay.read(restore_source(frames[-1]), reader):
                self._add(target, _renumber(chunk, archive_cursor))
            if replay.errors:
                raise archive.ArchiveError(replay.errors[0])
            target.finish(coverage)
            failpoint("redecode.before")
        self._complete(target)

    def _add(self, target: Redecode, chunk: DecodedChunk) -> None:
        target.add(chunk)
        self.report.entries += len(chunk.entries) + len(chunk.noise)
        self.report.bytes_read += sum(entry.length for entry in chunk.entries)
        self.report.bytes_read += sum(noise.length for noise in chunk.noise)

    def _complete(self, target: Redecode) -> None:
        """Delete the files of units that no longer exist, and count the source."""
        failpoint("redecode.after")
        # If there are obsolete transcripts, `target` left the source due.
        obsolete = target.obsolete_transcripts
        for transcript in obsolete:
            sinks.remove_file(Path(os.fsdecode(transcript.folder)), transcript.file)
        if obsolete:
            with self.stage.store.decoder_versions() as ledger:
                ledger.delete_transcripts(obsolete)
                ledger.mark_decoded(self.due.source, self._version)
        self.report.sources += 1
        self.report.sessions_changed += target.changed_count
        self.report.files_removed += len(obsolete)


def _get_position(cursor: Cursor) -> tuple[int, int, int]:
    """Return a key of the cursor that is equal only if the same bytes were read."""
    return cursor.offset, cursor.crc, cursor.finished_size


def _renumber(chunk: DecodedChunk, archive_cursor: ArchiveCursor) -> DecodedChunk:
    """Return the chunk with the store's number of its generation."""
    if chunk.cursor.generation != archive_cursor.number:
        return chunk
    cursor = replace(chunk.cursor, generation=archive_cursor.generation)
    return replace(chunk, cursor=cursor)
