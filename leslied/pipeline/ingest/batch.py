"""Batches of decoded chunks for one commit, and the report of an ingest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from leslied.store import CommitReport

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.model.decoded_chunk import DecodedChunk

BATCH_WEIGHT = 12_000
"""Rows plus kilobytes written in one transaction, across sources."""
LIGHT_BATCH_WEIGHT = 1_000
"""The same for the daemon, which must stay small: a process rarely returns memory to
the system."""


@dataclass(slots=True)
class IngestReport:
    """Counts, errors and held-back sources of one ingest."""

    sources: int = 0
    """Sources that exist, including unchanged ones; counted only by a full scan."""
    sources_read: int = 0
    entries: int = 0
    bytes_read: int = 0
    commits: int = 0
    noise: int = 0
    rejected: int = 0
    added: CommitReport = field(default_factory=CommitReport)
    errors: dict[Path, str] = field(default_factory=dict)
    """Paths that cannot be read now, and the reasons."""
    failures: dict[Path, str] = field(default_factory=dict)
    """Sources whose reading failed unexpectedly, and the reasons."""
    waiting: dict[Path, str] = field(default_factory=dict)
    """Sources held back because their folder may be excluded, and the reasons."""
    missing_roots: list[Path] = field(default_factory=list)

    def __iadd__(self, other: IngestReport) -> Self:
        """Add the counts and errors of another report."""
        for name in ("sources", "sources_read", "entries", "bytes_read", "commits"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.noise += other.noise
        self.rejected += other.rejected
        self.added += other.added
        self.errors |= other.errors
        self.failures |= other.failures
        self.waiting |= other.waiting
        self.missing_roots += other.missing_roots
        return self


@dataclass(slots=True)
class Batch:
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
        self.report.rejected += len(chunk.rejected)
