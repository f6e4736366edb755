"""The ingest stage: discover, read, decode and commit the entries of sources."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from leslied import tail
from leslied.errors import LesliedError, describe_error
from leslied.model.source import Cursor
from leslied.pipeline.failures import Failures
from leslied.pipeline.ingest.backlog import (
    Backlog,
    count_new_bytes,
    get_mtime,
    is_side_file,
    may_exhaust_memory,
    take_newest,
)
from leslied.pipeline.ingest.batch import (
    BATCH_WEIGHT,
    DAEMON_BATCH_WEIGHT,
    DAEMON_LIMITS,
    DAEMON_SLICE,
    Batch,
    IngestReport,
    Slice,
)
from leslied.pipeline.ingest.exclude import make_exclude_predicate
from leslied.pipeline.progress import ignore_progress
from leslied.pipeline.stage import FULL_BUDGET, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.agents import AgentAdapter
    from leslied.model.decoded_chunk import DecodedChunk
    from leslied.model.source import Root, SourceRef
    from leslied.pipeline.ingest.backlog import SourcePosition
    from leslied.pipeline.ingest.decode import Mask
    from leslied.pipeline.ingest.source_reader import SourceReader
    from leslied.pipeline.progress import ProgressCallback
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import Store


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Ingest(Stage):
    """The ingest stage of one agent."""

    adapter: AgentAdapter
    store: Store
    roots: tuple[Root, ...]
    limits: tail.ReadLimits = field(default_factory=tail.ReadLimits)
    is_final: bool = False
    """Whether a last line without a line end is read as complete."""
    is_excluded: Callable[[str], bool] | None = None
    """Predicate of a session's folder, true if no content of it may be stored; None if
    nothing is excluded. A predicate that is true for "" excludes everything."""
    mask: Mask | None = None
    """Replaces secrets before anything is stored; None to store the log's own text."""
    weight: int = BATCH_WEIGHT
    """Rows plus kilobytes after which a batch is committed."""
    slice: Slice | None = None
    """How much of one source a run reads; None to read all of it."""
    failures: Failures = field(default_factory=Failures)
    on_progress: ProgressCallback = ignore_progress
    """Called after every commit with the bytes read so far; the total is known only in
    an agent's first scan."""
    _backlog: Backlog = field(default_factory=Backlog)
    """Sources that the next run continues to read."""

    @classmethod
    def make(
        cls, context: StageContext, adapter: AgentAdapter, roots: Sequence[Root]
    ) -> Ingest:
        """Make the stage of one agent."""
        return cls(
            adapter=adapter,
            store=context.store,
            roots=tuple(roots),
            limits=DAEMON_LIMITS if context.is_daemon else tail.ReadLimits(),
            is_final=context.is_final,
            is_excluded=make_exclude_predicate(context.settings, adapter.name),
            mask=context.mask,
            weight=DAEMON_BATCH_WEIGHT if context.is_daemon else BATCH_WEIGHT,
            slice=DAEMON_SLICE if context.is_daemon else None,
            failures=context.failures,
            on_progress=context.on_progress,
        )

    @property
    def name(self) -> str:
        """Return the name of the stage, which includes the agent's."""
        return f"ingest {self.adapter.name}"

    @property
    def activity(self) -> str:
        """Return the label of the progress bar."""
        return f"Reading {self.adapter.title}"

    @property
    def watched_roots(self) -> Sequence[Root]:
        """Return the agent's roots."""
        return self.roots

    @property
    def _max_sources(self) -> int | None:
        """Return how many sources a run reads; None for all."""
        return self.slice.max_sources if self.slice else None

    def run(self, budget: Budget) -> IngestReport:
        """Ingest new entries from all sources, or only from files that changed."""
        if budget.changed_paths is None:
            return self.scan(budget)
        return self.ingest_files(budget.changed_paths, budget)

    def adopt(self, previous: Ingest) -> None:
        """Take over the backlog: the sources that the next run continues."""
        self._backlog.add(previous._backlog.paths)

    def scan(self, budget: Budget = FULL_BUDGET) -> IngestReport:
        """Ingest all new entries below the roots, each exactly once."""
        with self.store.track_scan(self.adapter.name) as skipped_sources:
            return self._scan(budget, skipped_sources)

    def _scan(self, budget: Budget, skipped_sources: list[object]) -> IngestReport:
        """Do what `scan` promises, and add what was skipped to `skipped_sources`."""
        agent = self.adapter.name
        is_first = self.store.is_new_agent(agent)
        stamps = self.store.load_stamps(agent, is_final=self.is_final)
        gone_before = {path for path in self.store.list_gone(agent) if path in stamps}
        discovery = tail.discover(agent, self.roots, stamps)
        with self.store.bulk_load(
            is_enabled=is_first and bool(discovery.sources),
            is_large=_is_large(discovery.sources),
        ):
            newest, others = take_newest(
                discovery.sources, lambda s: s.stamp.mtime_ns, self._max_sources
            )
            sources = sorted(newest, key=is_side_file)
            later_paths = [source.path for source in others]
            report = self._ingest(sources, later_paths, budget, is_first=is_first)
        if found_again := gone_before.difference(discovery.gone_paths):
            self.store.mark_present(agent, found_again)
        self._mark_gone(discovery)
        report.is_scan, report.sources = True, discovery.count
        report.unreadable |= discovery.unreadable
        report.missing_roots += discovery.missing_roots
        skipped_sources += [*report.unfinished, *self.failures.list_names("source")]
        return report

    def ingest_files(
        self, paths: Iterable[Path], budget: Budget = FULL_BUDGET
    ) -> IngestReport:
        """Ingest new entries from these files; ignore files that are not sources.

        Afterwards, read sources of the backlog until the budget yields.
        """
        paths, others = take_newest(list(paths), get_mtime, self._max_sources)
        sources = tail.find_sources(self.adapter.name, self.roots, paths)
        return self._ingest(sorted(sources, key=is_side_file), others, budget)

    def _ingest(
        self,
        sources: list[SourceRef],
        later_paths: Iterable[Path],
        budget: Budget,
        *,
        is_first: bool = False,
    ) -> IngestReport:
        """Ingest a slice of each source, and of each one in the backlog.

        Sources with few new bytes come first. The backlog is read until the budget
        yields, but at least one group of it; `later_paths` are only added to it.
        `is_first` promises that no source was read before.
        """
        backlog = self._backlog
        sources = [source for source in sources if source.path not in backlog.paths]
        small = self._take_small_sources(sources, is_first=is_first)
        waiting = list(islice(backlog.paths, self._max_sources))
        total = sum(source.stamp.size for source in sources) if is_first else 0
        batches = self._read(small, sources if is_first else ()) if sources else ()
        report = self.commit(batches, total)
        backlog.add(report.unfinished)
        groups = backlog.iter_groups(waiting, self._load_position, self._is_small)
        for group in groups:
            sources += [source for source, _ in group]
            backlog.take(group)
            added = self.commit(self._read(group))
            backlog.add(added.unfinished)
            report += added
            if budget.should_yield():
                break
        backlog.add(later_paths)
        report.unfinished.update(backlog.paths)
        report.has_more = bool(backlog.paths)
        self._clear_failures(sources, report)
        return report

    def _take_small_sources(
        self, sources: Iterable[SourceRef], *, is_first: bool
    ) -> Iterable[SourcePosition]:
        """Return the sources with few new bytes, which are read first.

        Put the others, except paused ones, into the backlog.
        """
        if is_first:
            positions = ((source, Cursor()) for source in sources)
        else:
            positions = (
                (source, self._load_cursor(source))
                for source in sources
                if not self.failures.is_paused("source", str(source.path))
            )
        if self.slice is None or not self.slice.max_small_bytes:
            return positions
        small = []
        for position in positions:
            if self._is_small(*position):
                small.append(position)
            else:
                self._backlog.add([position[0].path])
        return small

    def _is_small(self, source: SourceRef, cursor: Cursor) -> bool:
        """Return whether a source has so little new that others need not wait for it.

        A source that failed is read alone, so that it cannot harm others again.
        """
        if self.slice is None or not self.slice.max_small_bytes:
            return True
        has_failed = self.failures.count_attempts("source", str(source.path)) > 0
        is_short = count_new_bytes(source, cursor) <= self.slice.max_small_bytes
        return is_short and not has_failed

    def _load_position(self, path: Path) -> SourcePosition | None:
        """Return a source and its cursor; None if it is gone or paused by a failure."""
        source = self._find_source(path)
        if source is None or self.failures.is_paused("source", str(path)):
            return None
        return source, self._load_cursor(source)

    def commit(self, batches: Iterable[Batch], total: int = 0) -> IngestReport:
        """Commit each batch in one transaction; `total` bytes are for progress only."""
        report = IngestReport()
        failed_paths: set[Path] = set()
        for batch in batches:
            report += batch.report
            if batch.chunks:
                self._commit_chunks(batch.chunks, report, failed_paths)
                self.on_progress(report.bytes_read, total)
            reasons = batch.report.unreadable | batch.report.waiting
            for path, reason in reasons.items():
                self.store.record_source_error(self.adapter.name, path, reason)
            for path, reason in batch.report.failures.items():
                self.failures.record("source", str(path), reason)
            self.failures.end_work()
        return report

    def _commit_chunks(
        self, chunks: list[DecodedChunk], report: IngestReport, failed_paths: set[Path]
    ) -> None:
        """Commit the chunks together, or, if that fails unexpectedly, one by one.

        Skip the sources in `failed_paths`, and add those that fail now.
        """
        chunks = [chunk for chunk in chunks if chunk.source.path not in failed_paths]
        try:
            report.added += self.store.commit(chunks)
        except LesliedError:
            raise
        except Exception:  # noqa: BLE001 - find out which source failed
            for chunk in chunks:
                self._commit_alone(chunk, report, failed_paths)
        report.commits += 1

    def _commit_alone(
        self, chunk: DecodedChunk, report: IngestReport, failed_paths: set[Path]
    ) -> None:
        """Commit one chunk; if that fails unexpectedly, record it for its source."""
        path = chunk.source.path
        # A later chunk must not move the cursor past one that was not committed.
        if path in failed_paths:
            return
        try:
            report.added += self.store.commit([chunk])
        except LesliedError:
            raise
        except Exception as error:  # noqa: BLE001 - any bug ends this source only
            reason = describe_error(error)
            report.failures[path] = self.failures.record("source", str(path), reason)
            failed_paths.add(path)

    def _clear_failures(self, sources: list[SourceRef], report: IngestReport) -> None:
        """Delete the failures of sources that were read to their end, or are gone."""
        failed_paths = {*report.failures, *report.unfinished}
        intact_paths = {str(s.path) for s in sources if s.path not in failed_paths}
        for path in self.failures.list_names("source"):
            was_paused = self.failures.is_paused("source", path)
            was_read = path in intact_paths and not was_paused
            if was_read or not os.path.lexists(path):
                self.failures.clear("source", path)

    def make_source_reader(
        self, load_saved_state: Callable[[bytes], str] = lambda _: ""
    ) -> SourceReader:
        """Return a reader of this agent's sources.

        `load_saved_state` returns the decoder state saved for a log's path.
        """
        from leslied.pipeline.ingest.source_reader import SourceReader  # noqa: PLC0415

        return SourceReader(
            adapter=self.adapter,
            limits=self.limits,
            is_final=self.is_final,
            weight=self.weight,
            slice=self.slice,
            is_excluded=self.is_excluded,
            mask=self.mask,
            load_saved_state=load_saved_state,
            find_source=self._find_source,
            on_read=self._mark_begin,
        )

    def _read(
        self,
        positions: Iterable[SourcePosition],
        first_sources: Sequence[SourceRef] = (),
    ) -> Iterator[Batch]:
        """Read each source from its cursor on, in a second process if that is worth it.

        `first_sources` are all of the agent's sources in its first scan; else empty.
        """
        if not first_sources:
            return self.make_source_reader(self._load_saved_state).read(positions)
        from leslied.pipeline.ingest.prefetch import prefetch_batches  # noqa: PLC0415

        batches = self.make_source_reader().read(positions)
        return prefetch_batches(batches) if _is_large(first_sources) else batches

    def _mark_begin(self, source: SourceRef, cursor: Cursor) -> None:
        """Record that the source is being read, if it may need too much memory."""
        if may_exhaust_memory(source, cursor):
            self.failures.begin_work("source", str(source.path))

    def _find_source(self, path: Path) -> SourceRef | None:
        return tail.find_source(self.adapter.name, self.roots, path)

    def _load_saved_state(self, path: bytes) -> str:
        cursor = self.store.find_cursor(self.adapter.name, path)
        return cursor.state if cursor else ""

    def _load_cursor(self, source: SourceRef) -> Cursor:
        """Return the source's saved cursor, or a new one.

        If the file was moved, its cursor is first saved under the new path.
        """
        path = os.fsencode(source.path)
        cursor = self.store.find_cursor(self.adapter.name, path)
        if cursor is None:
            self._adopt_moved_file(
                source, self.store.find_source_path(self.adapter.name, source.stamp)
            )
            cursor = self.store.find_cursor(self.adapter.name, path)
        return cursor or Cursor()

    def _adopt_moved_file(self, source: SourceRef, old_path: bytes) -> None:
        """Move the cursor from `old_path` if the file was moved to a new folder."""
        is_same_name = os.path.basename(old_path) == os.fsencode(source.path.name)  # noqa: PTH119
        if is_same_name and not os.path.lexists(old_path):
            self.store.move_source(
                self.adapter.name, old_path, os.fsencode(source.path)
            )

    def _mark_gone(self, discovery: tail.Discovery) -> None:
        """Mark as gone the sources that a search of their folder did not find.

        A whole root that is missing may be on a disk that is not mounted now.
        """
        unsearched = [*discovery.unreadable, *discovery.missing_roots]
        prefixes = tuple(os.fsencode(folder / "_")[:-1] for folder in unsearched)
        gone = [path for path in discovery.gone_paths if not path.startswith(prefixes)]
        if gone:
            self.store.mark_gone(self.adapter.name, gone)


def _is_large(sources: Sequence[SourceRef]) -> bool:
    """Return whether further processes help to read these sources."""
    if not sources:
        return False
    from leslied.pipeline.ingest.prefetch import can_prefetch  # noqa: PLC0415

    return can_prefetch(sources)
