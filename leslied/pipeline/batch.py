"""What one commit takes: readings, and the work it was to make them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from leslied.store import CommitReport

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.model.decoded_chunk import DecodedChunk

BATCH_WEIGHT = 12_000
"""Rows and kilobytes that go into one transaction, across sources."""
LIGHT_BATCH_WEIGHT = 1_000
"""The same, for a process that stays: it keeps the memory it ever needed."""


@dataclass(slots=True)
class IngestReport:
    """The work an ingest did: tests count it, `sync` tells it."""

    sources: int = 0
    sources_read: int = 0
    entries: int = 0
    bytes_read: int = 0
    commits: int = 0
    noise: int = 0
    rejected: int = 0
    added: CommitReport = field(default_factory=CommitReport)
    errors: dict[Path, str] = field(default_factory=dict)
    failures: dict[Path, str] = field(default_factory=dict)
    """Sources that raised something unexpected, and what."""
    waiting: dict[Path, str] = field(default_factory=dict)
    """Sources held back because their folder may be excluded, and why."""
    missing_roots: list[Path] = field(default_factory=list)

    def __iadd__(self, other: IngestReport) -> Self:
        """Both together."""
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
    """Readings that will be committed together, across sources."""

    readings: list[DecodedChunk] = field(default_factory=list)
    report: IngestReport = field(default_factory=IngestReport)
    weight: int = 0

    def add(self, reading: DecodedChunk) -> None:
        """The reading waits for its commit."""
        self.readings.append(reading)
        self.weight += reading.write_cost
        self.report.noise += len(reading.noise)
        self.report.rejected += len(reading.rejected)
