"""Define the decoded entries of a chunk, which are committed with its cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.model.record import Record  # noqa: TC001 - a field's type

if TYPE_CHECKING:
    from leslied.model.source import Cursor, Noise, Rejection, SourceRef


class PreparedRecord(Struct, frozen=True, array_like=True):
    """Values derived from a record, computed in advance for a short transaction."""

    digest: bytes
    """The content digest, which tells versions of an entry apart."""
    created_us: int | None
    utc_offset: int
    """Minutes east of UTC."""
    usage: str
    metadata: str
    search_text: str | None
    """The text for the full-text index; None if it is the record's content."""


class DecodedEntry(Struct, frozen=True, array_like=True):
    """Records of one entry, and the entry's position in its source."""

    offset: int
    length: int
    records: tuple[Record, ...]
    line_digest: bytes = b""
    """Hash of the line; part of the record ids if the entry has no native id."""
    is_complete: bool = True
    """False for a last line without a line end."""
    prepared: tuple[PreparedRecord, ...] = ()
    """One item for each record, or empty if nothing was computed in advance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedChunk:
    """Decoded entries and the cursor after them; one transaction stores both."""

    source: SourceRef
    cursor: Cursor
    decoder_version: int
    entries: tuple[DecodedEntry, ...] = ()
    noise: tuple[Noise, ...] = ()
    rejected: tuple[Rejection, ...] = ()

    @property
    def write_cost(self) -> int:
        """Estimated cost of the commit: its number of rows plus its kilobytes."""
        rows = sum(len(entry.records) for entry in self.entries)
        rows += len(self.noise) + len(self.rejected)
        size = sum(entry.length for entry in self.entries)
        size += sum(len(rejection.head) for rejection in self.rejected)
        return 1 + rows + size // 1024
