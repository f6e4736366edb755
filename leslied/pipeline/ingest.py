"""The first street: discover, read, decode, commit."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied import tail
from leslied.errors import LesliedError
from leslied.model.source import Cursor, Shape
from leslied.pipeline.batch import BATCH_WEIGHT, Batch, IngestReport
from leslied.pipeline.failures import Failures, describe_error
from leslied.pipeline.prefetch import can_prefetch, prefetch_batches
from leslied.pipeline.progress import ignore_progress
from leslied.pipeline.source_reader import SourceReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.source import Root, SourceRef
    from leslied.pipeline.progress import ProgressCallback
    from leslied.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """The first street of one agent: its sources, on their way into the store."""

    adapter: AgentAdapter
    store: Store
    roots: tuple[Root, ...]
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    is_final: bool = False
    """Whether a last line without its end counts as ended."""
    is_excluded: Callable[[str], bool] | None = None
    """Whether sessions in this folder keep cursor and count, and no content; None if
    nothing is excluded. True for "" excludes everything."""
    weight: int = BATCH_WEIGHT
    """Rows and kilobytes committed at once."""
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Told the bytes after every commit; of how many, when all are new."""

    def scan(self) -> IngestReport:
        """Everything new below the roots is in the store, each entry exactly once."""
        with self.store.track_scan(self.adapter.name):
            return self._scan()

    def _scan(self) -> IngestReport:
        name = self.adapter.name
        is_first = self.store.is_new_agent(name)
        known = self.store.load_stamps(name, is_final=self.is_final)
        found = tail.discover(name, self.roots, known)
        with self.store.bulk_load(is_wanted=is_first and bool(found.sources)):
            sources = sorted(found.sources, key=_is_side_file)
            batches = self._read_all if is_first else self._read_new
            total = sum(source.stamp.size for source in sources) if is_first else 0
            done = self.commit(batches(sources), total)
        self._clear_failures(sources, done)
        self._mark_gone(found)
        done.sources = found.count
        done.errors |= found.unreadable
        done.missing_roots += found.missing_roots
        return done

    def ingest_files(self, paths: Iterable[Path]) -> IngestReport:
        """Everything new in these files is in the store; what is no source is not."""
        known = map(self._find_source, paths)
        sources = sorted(filter(None, known), key=_is_side_file)
        done = self.commit(self._read_new(sources))
        self._clear_failures(sources, done)
        return done

    def commit(self, batches: Iterable[Batch], total: int = 0) -> IngestReport:
        """Commit each batch, whole; return the work. `total` is for progress only."""
        done = IngestReport()
        broken: set[Path] = set()
        for batch in batches:
            done += batch.report
            if batch.readings:
                self._commit(batch.readings, done, broken)
                self.on_progress(done.bytes_read, total)
            for path, reason in (batch.report.errors | batch.report.waiting).items():
                self.store.record_source_error(self.adapter.name, path, reason)
            for path, reason in batch.report.failures.items():
                self.failures.record("source", str(path), reason)
        return done

    def _commit(
        self, readings: list[DecodedChunk], done: IngestReport, broken: set[Path]
    ) -> None:
        """Commit the readings together, or, if that fails unexpectedly, one by one."""
        readings = [r for r in readings if r.source.path not in broken]
        try:
            done.added += self.store.commit(readings)
        except LesliedError:
            raise
        except Exception:  # noqa: BLE001 - find out which source it was
            for reading in readings:
                self._commit_alone(reading, done, broken)
        done.commits += 1

    def _commit_alone(
        self, reading: DecodedChunk, done: IngestReport, broken: set[Path]
    ) -> None:
        path = reading.source.path
        # A later reading must not move the cursor past one that was not committed.
        if path in broken:
            return
        try:
            done.added += self.store.commit([reading])
        except LesliedError:
            raise
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            reason = describe_error(error)
            done.failures[path] = self.failures.record("source", str(path), reason)
            broken.add(path)

    def _clear_failures(self, sources: list[SourceRef], done: IngestReport) -> None:
        """Forget the failures of sources that were read now, or no longer exist."""
        read = {str(s.path) for s in sources if s.path not in done.failures}
        for name in self.failures.names("source"):
            is_read = name in read and not self.failures.is_paused("source", name)
            if is_read or not os.path.lexists(name):
                self.failures.clear("source", name)

    def make_source_reader(
        self, load_saved_state: Callable[[bytes], str] = lambda _: ""
    ) -> SourceReader:
        """A look at sources of this agent."""
        return SourceReader(
            adapter=self.adapter,
            limits=self.limits,
            is_final=self.is_final,
            weight=self.weight,
            is_excluded=self.is_excluded,
            load_saved_state=load_saved_state,
            find_source=self._find_source,
        )

    def _read_all(self, sources: list[SourceRef]) -> Iterator[Batch]:
        """All of every source: no cursor needs to be asked for."""
        batches = self.make_source_reader().read(
            (source, Cursor()) for source in sources
        )
        return prefetch_batches(batches) if can_prefetch(sources) else batches

    def _read_new(self, sources: list[SourceRef]) -> Iterator[Batch]:
        """What is new in each source after its cursor, or that of the file it was."""
        look = self.make_source_reader(self._load_saved_state)
        return look.read(
            (source, self._find_cursor(source))
            for source in sources
            if not self.failures.is_paused("source", str(source.path))
        )

    def _find_source(self, path: Path) -> SourceRef | None:
        return tail.find_source(self.adapter.name, self.roots, path)

    def _load_saved_state(self, path: bytes) -> str:
        cursor = self.store.find_cursor(self.adapter.name, path)
        return cursor.state if cursor else ""

    def _find_cursor(self, source: SourceRef) -> Cursor:
        path = os.fsencode(source.path)
        cursor = self.store.find_cursor(self.adapter.name, path)
        if cursor is None:
            self._adopt_moved_file(
                source, self.store.find_source_path(self.adapter.name, source.stamp)
            )
            cursor = self.store.find_cursor(self.adapter.name, path)
        return cursor or Cursor()

    def _adopt_moved_file(self, source: SourceRef, old_path: bytes) -> None:
        """A file that was read under another path goes on from there."""
        is_same_name = os.path.basename(old_path) == os.fsencode(source.path.name)  # noqa: PTH119
        if is_same_name and not os.path.lexists(old_path):
            self.store.move_source(
                self.adapter.name, old_path, os.fsencode(source.path)
            )

    def _mark_gone(self, discovery: tail.Discovery) -> None:
        """Sources that are certainly deleted: a folder we cannot see only hides."""
        hidden = tuple(os.fsencode(path) for path in discovery.unreadable)
        missing = tuple(os.fsencode(path) for path in discovery.missing_roots)
        gone = [p for p in discovery.gone_paths if not p.startswith(hidden + missing)]
        if gone:
            self.store.mark_gone(self.adapter.name, gone)


def _is_side_file(source: SourceRef) -> bool:
    return source.shape is Shape.DOCUMENT
