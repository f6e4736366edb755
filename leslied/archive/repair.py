"""Write a damaged archive file again, and replace damaged bytes from its source.

Undamaged frames are copied as they are. A damaged frame is written again if the source
still has its bytes, which the checksums in the headers prove. A part that nothing can
replace is copied as it is, so that no byte of it is lost and it is still reported.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from leslied.archive.erase import is_erased
from leslied.archive.format import ArchiveFrame, FrameKind, SourceChangedError
from leslied.archive.writer import FrameSpec
from leslied.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.archive.reader import ArchiveReader, FilePart
    from leslied.archive.writer import ArchiveWriter, Mask

_FIRST_GENERATION = 1


class OriginalBytes(Protocol):
    """Access to bytes outside the archive file: the source, and spilled results."""

    @property
    def mask(self) -> Mask | None:
        """Function that replaces secrets before bytes are stored."""

    def read(self, start: int, end: int, *, is_erased: bool) -> Iterator[bytes]:
        """Yield bytes of the source, as the archive has them.

        With `is_erased`, lines were erased from the archive file, so forgotten lines
        are replaced by spaces. Raise SourceError if the bytes cannot be read or must
        not be stored.
        """

    def read_spill(self, name: Any) -> bytes:
        """Return the text of a spilled result; raise SourceError if it is gone."""


class _FramePosition(NamedTuple):
    """Offset at which a frame starts or ends in its generation of the source."""

    offset: int = 0
    crc: int = 0
    """CRC-32 of the generation's bytes before the offset."""


@dataclass(slots=True)
class ArchiveRepair:
    """One pass over the parts of a damaged file."""

    reader: ArchiveReader
    writer: ArchiveWriter
    """Writes the new file, which is empty."""
    original: OriginalBytes
    drops_regions: bool = False
    """Whether to leave out damaged regions whose content is in other frames.

    A region has no header that says what it contained. The caller must therefore add
    spilled results and the end of the source afterwards, and check that these account
    for `open_regions`.
    """
    restored: int = 0
    """Number of damaged parts that were replaced."""
    remaining: list[str] = field(default_factory=list)
    """Damage that is still in the new file."""
    open_regions: list[FilePart] = field(default_factory=list)
    """Regions since the last LOG or DOCUMENT frame, which are left out so far."""
    last_frame: ArchiveFrame | None = None
    """Last LOG or DOCUMENT frame."""
    _positions: dict[int, _FramePosition] = field(default_factory=dict)
    """End of the LOG frames written so far, by generation."""

    def run(self) -> None:
        """Copy, restore or leave out every part."""
        for part in self.reader.list_parts():
            if part.frame is None:
                self._add_region(part)
                continue
            if part.frame.kind in (FrameKind.LOG, FrameKind.DOCUMENT):
                self._close_regions(part.frame)
                self.last_frame = part.frame
            self._add_frame(part, part.frame)

    def keep(self, part: FilePart) -> None:
        """Copy a damaged part as it is."""
        self.writer.copy_part(part, self.reader.read_part(part))
        self.remaining.append(part.damage)

    def _add_region(self, region: FilePart) -> None:
        """Copy a damaged region, or leave it out until `_close_regions` decides."""
        if self.drops_regions:
            self.open_regions.append(region)
        else:
            self.keep(region)

    def _close_regions(self, frame: ArchiveFrame) -> None:
        """Fill the gap before a frame, and decide about the regions before it.

        Leave the regions out if the new file has all bytes of the source up to the
        frame, and no other generation can have had bytes in them. Else copy them.
        """
        had_gap = frame.offset > self._get_written_end(frame).offset
        has_gap = not self._fill_gap(frame)
        if had_gap and not has_gap and not self.open_regions:
            self.restored += 1
        is_replaced = not has_gap and self._is_inside_generation(frame)
        for region in self.open_regions:
            if is_replaced:
                self.restored += 1
            else:
                self.keep(region)
        self.open_regions = []

    def _is_inside_generation(self, frame: ArchiveFrame) -> bool:
        """Return whether a region before the frame must be of the frame's generation.

        The source has the bytes of one generation only, so it cannot replace a region
        of another one.
        """
        if self.last_frame is None:
            return frame.generation == _FIRST_GENERATION
        return frame.generation == self.last_frame.generation

    def _fill_gap(self, frame: ArchiveFrame) -> bool:
        """Write the bytes between the last LOG frame and this one, if some are missing.

        Return False if they are still missing.
        """
        position = self._get_written_end(frame)
        length = frame.offset - position.offset
        if frame.kind != FrameKind.LOG or length <= 0:
            return True
        try:
            # Only the whole prefix shows that the source has this generation's bytes.
            if self._compute_crc(frame, frame.source_end) != frame.running_crc:
                return False
            self._append(frame, position, length, crc_after=None)
        except (SourceError, SourceChangedError):
            return False
        return True

    def _add_frame(self, part: FilePart, frame: ArchiveFrame) -> None:
        """Copy a frame, or write it again if it is damaged."""
        if not part.damage:
            self.writer.copy_part(part, self.reader.read_part(part))
        elif self._restore(frame):
            self.restored += 1
        else:
            self.keep(part)
            return
        if frame.kind == FrameKind.LOG:
            position = _FramePosition(frame.source_end, frame.running_crc)
            self._positions[frame.generation] = position

    def _restore(self, frame: ArchiveFrame) -> bool:
        """Write a damaged frame again; return False if its bytes are gone."""
        try:
            position = self._find_start(frame)
            self._append(frame, position, frame.length, crc_after=frame.running_crc)
        except (SourceError, SourceChangedError):
            return False
        return True

    def _find_start(self, frame: ArchiveFrame) -> _FramePosition:
        """Return where a frame starts, with the checksum of the bytes before it."""
        position = self._get_written_end(frame)
        if frame.kind != FrameKind.LOG:
            return _FramePosition(frame.offset)
        if position.offset == frame.offset:
            return position
        return _FramePosition(frame.offset, self._compute_crc(frame, frame.offset))

    def _append(
        self,
        frame: ArchiveFrame,
        position: _FramePosition,
        length: int,
        *,
        crc_after: int | None,
    ) -> None:
        """Append original bytes as a frame with the kind and metadata of `frame`."""
        spec = FrameSpec(
            kind=FrameKind(frame.kind),
            generation=frame.generation,
            offset=position.offset,
            length=length,
            crc_before=position.crc,
            crc_after=crc_after,
            metadata=frame.metadata,
        )
        if frame.kind == FrameKind.SPILL:
            self.writer.append(
                spec, [self.original.read_spill(frame.metadata.get("spill"))]
            )
            return
        end = position.offset + length
        data = self.original.read(position.offset, end, is_erased=is_erased(frame))
        # Lines were erased from bytes that had been masked before.
        mask = None if is_erased(frame) else self.original.mask
        self.writer.append(spec, data, mask)

    def _compute_crc(self, frame: ArchiveFrame, end: int) -> int:
        """Return the checksum of the source's bytes before an offset."""
        crc = 0
        for data in self.original.read(0, end, is_erased=is_erased(frame)):
            crc = zlib.crc32(data, crc)
        return crc

    def _get_written_end(self, frame: ArchiveFrame) -> _FramePosition:
        """Return where the LOG frames of the frame's generation end in the new file."""
        return self._positions.get(frame.generation, _FramePosition())
