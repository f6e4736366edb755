"""Batches of decoded chunks for one commit, and the report of an ingest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from leslied.pipeline.stage import LogEvent, Report
from leslied.store import CommitReport
from leslied.tail import ReadLimits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leslied.model.decoded_chunk import DecodedChunk

BATCH_WEIGHT = 12_000
"""Rows plus kilobytes written in one transaction, across sources."""
DAEMON_BATCH_WEIGHT = 4_000
"""The same for the daemon, which must stay small: a process rarely returns memory to
the system. With a limit of 1,000, the lines of many busy sessions needed twice as many
transactions."""


class Slice(NamedTuple):
    """How much one run reads, so that other sources and stages need not wait."""

    max_bytes: int
    max_entries: int
    max_sources: int = 2_000
    """Sources that one run reads, those that changed last; the next run continues."""
    max_small_bytes: int = 0
    """Sources with at most this many new bytes are read first, in common batches. The
    others follow one by one until the budget yields. With 0, all are read first."""

    def is_used_up(self, bytes_read: int, entries: int) -> bool:
        """Return whether a source must wait for the next run after this much of it."""
        return bytes_read >= self.max_bytes or entries >= self.max_entries


DAEMON_SLICE = Slice(
    max_bytes=512 * 1024, max_entries=5_000, max_small_bytes=128 * 1024
)
"""The slice of the daemon: it takes about a tenth of a second."""
DAEMON_LIMITS = ReadLimits(chunk=DAEMON_SLICE.max_bytes)
"""Chunks of the daemon are not larger than a slice."""
INITIAL_SLICE = Slice(
    max_bytes=256 * 1024 * 1024, max_entries=100_000, max_sources=100_000
)
"""The slice of the daemon's first scan, more than a log of a real session has."""


class IngestReport(Report, kw_only=True):
    """Counts, errors and held-back sources of one ingest.

    Its `has_changes` is false: later stages wait for finished units, not for entries.
    """

    is_scan: bool = False
    sources: int = 0
    """Sources that exist, including unchanged ones; counted only by a full scan."""
    sources_read: int = 0
    entries: int = 0
    bytes_read: int = 0
    commits: int = 0
    noise: int = 0
    rejected: int = 0
    added: CommitReport = field(default_factory=CommitReport)
    unreadable: dict[Path, str] = field(default_factory=dict)
    """Paths that cannot be read now, and the reasons."""
    failures: dict[Path, str] = field(default_factory=dict)
    """Sources whose reading failed unexpectedly, and the reasons."""
    unfinished: set[Path] = field(default_factory=set)
    """Sources of which only a slice was read; the next run continues."""
    waiting: dict[Path, str] = field(default_factory=dict)
    """Sources held back because their folder may be excluded, and the reasons."""
    missing_roots: list[Path] = field(default_factory=list)

    @property
    def event(self) -> str:
        """Return the name of the log event."""
        return "ingest.scan" if self.is_scan else "ingest.read"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        if not self.entries:
            return {}
        return {
            "entries": self.entries,
            "records": self.added.records,
            "bytes": self.bytes_read,
            "rejected": self.rejected,
        }

    def list_warnings(self) -> Iterator[LogEvent]:
        """Yield a log event for every source that cannot be read now."""
        for path, reason in (self.unreadable | self.failures).items():
            yield LogEvent("source.error", {"path": str(path), "reason": reason})
        # `claude -p` writes its working directory about 100 ms after the prompt, so its
        # log is held back for a moment every time. Only a scan reports it.
        for path, reason in self.waiting.items() if self.is_scan else ():
            yield LogEvent("source.wait", {"name": str(path), "reason": reason})


class Batch(Struct, eq=False):
    """Decoded chunks that are committed together, across sources."""

    chunks: list[DecodedChunk] = field(default_factory=list)
    report: IngestReport = field(default_factory=IngestReport)
    weight: int = 0
    """Rows plus kilobytes of all chunks."""

    def add(self, chunk: DecodedChunk) -> None:
        """Add a chunk, its weight, and its counts of noise and rejections."""
        self.chunks.append(chunk)
        self.weight += chunk.write_cost
        self.report.noise += len(chunk.noise)
        self.report.rejected += sum(each.times for each in chunk.rejected)
