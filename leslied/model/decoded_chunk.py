"""What one look at a source brought: kept whole, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from leslied.model.record import Record
    from leslied.model.source import Cursor, Noise, Rejection, SourceRef


class PreparedRecord(Struct, frozen=True):
    """What the store works out of a record before it writes: anyone may, ahead."""

    digest: bytes
    search_text: str


class DecodedEntry(Struct, frozen=True):
    """The records of one entry and where it stood."""

    offset: int
    length: int
    records: tuple[Record, ...]
    line_digest: bytes = b""
    """Names the records of a line that carries no id of its own."""
    is_complete: bool = True
    prepared: tuple[PreparedRecord, ...] = ()
    """One for each record, or nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedChunk:
    """Decoded entries and the cursor they paid for: one transaction holds both."""

    source: SourceRef
    cursor: Cursor
    decoder_version: int
    entries: tuple[DecodedEntry, ...] = ()
    noise: tuple[Noise, ...] = ()
    rejected: tuple[Rejection, ...] = ()

    @property
    def write_cost(self) -> int:
        """Roughly the rows and kilobytes that committing it will write."""
        rows = sum(len(entry.records) for entry in self.entries) + len(self.noise)
        size = sum(entry.length for entry in self.entries)
        return 1 + rows + size // 1024
