"""Append frames to archive files. A frame is written completely or not at all."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import msgspec

from leslied.archive.format import (
    HEADER_BYTES,
    ArchiveError,
    ArchiveFrame,
    FrameKind,
    SourceChangedError,
    has_zero_tail,
    pack_header,
    scan_frames,
)
from leslied.archive.reader import find_frame_damage
from leslied.fs import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leslied.archive.reader import FilePart

    Mask = Callable[[bytes], bytes]
    _Chunk = tuple[bytes, bytes]
    """Bytes of a source, and the bytes to store."""

COMPRESSION_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSpec:
    """Description of a frame to append, with the expected length and checksum."""

    kind: FrameKind
    generation: int
    offset: int = 0
    length: int
    crc_before: int = 0
    """CRC-32 of the generation's bytes before this frame."""
    crc_after: int | None = None
    """Expected CRC-32 up to the end of this frame; None skips the check."""
    metadata: dict[str, Any] = field(default_factory=dict)


def make_file_name(agent: str, path: bytes) -> str:
    """Return the path of a source's archive file, relative to the archive folder."""
    digest = hashlib.sha256(agent.encode() + b"\0" + path).hexdigest()
    return f"{agent}/{digest[:2]}/{digest}.zst"


class ArchiveWriter:
    """Writer of one source's archive file.

    Opening the file truncates an unfinished frame at its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames: list[ArchiveFrame] = []
        self._end = 0
        self._synced_end = 0
        try:
            make_private_dir(path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise _make_write_error(path, error) from error
        try:
            self._load_frames()
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self._end

    @property
    def mtime_ns(self) -> int:
        """Modification time of the file."""
        return os.fstat(self._fd).st_mtime_ns

    def find_last_frame(
        self, *kinds: FrameKind, generation: int | None = None
    ) -> ArchiveFrame | None:
        """Find the last frame of one of these kinds, in one generation or in any."""
        for frame in reversed(self.frames):
            if frame.kind in kinds and generation in (None, frame.generation):
                return frame
        return None

    def append(
        self, spec: FrameSpec, data: Iterable[bytes], mask: Mask | None = None
    ) -> ArchiveFrame:
        """Append the bytes as one frame; on error, leave the file unchanged.

        With a mask, store its result for each line, or for the whole document; the
        result must have as many bytes. Raise SourceChangedError if the unmasked bytes
        do not have the expected length and checksum.
        """
        try:
            frame = self._append(spec, _mask_chunks(spec, data, mask))
        except BaseException as error:
            os.ftruncate(self._fd, self._end)
            if isinstance(error, OSError):
                raise _make_write_error(self.path, error) from error
            raise
        self.frames.append(frame)
        self._end = frame.end
        return frame

    def copy_part(self, part: FilePart, data: Iterable[bytes]) -> None:
        """Append a part of another archive file unchanged, even if it is damaged.

        Bytes without a valid header are skipped by readers, which look for the next
        frame.
        """
        at = self._end
        try:
            for chunk in data:
                at += self._write(chunk, at)
        except OSError as error:
            raise _make_write_error(self.path, error) from error
        if part.frame:
            shift = self._end - part.start
            frame = msgspec.structs.replace(
                part.frame,
                file_offset=self._end,
                body_offset=part.frame.body_offset + shift,
            )
            self.frames.append(frame)
        self._end = at

    def sync(self) -> None:
        """Flush the file to disk, but not its name: a new file needs `sync_folder`.

        On error, remove the frames that were appended since the file was opened: they
        may not be on the disk, and flushing them again could succeed although the
        system has given up on them. The writer must not be used afterwards.
        """
        try:
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, self._synced_end)
            raise _make_write_error(self.path, error) from error

    def _load_frames(self) -> None:
        """Load the frames and truncate an unfinished one."""
        scan = scan_frames(self._fd, str(self.path))
        self.frames, self._end = scan.frames, scan.end
        if self.frames and scan.end == self.frames[-1].end:
            # A last frame that is damaged and ends in zeros did not reach the disk.
            last = self.frames[-1]
            if has_zero_tail(self._fd, last) and find_frame_damage(self._fd, last):
                self._end = self.frames.pop().file_offset
        os.ftruncate(self._fd, self._end)
        self._synced_end = self._end

    def _append(self, spec: FrameSpec, data: Iterable[_Chunk]) -> ArchiveFrame:
        """Write the body, then its header over zeros; do not undo it on an error."""
        metadata = msgspec.json.encode(spec.metadata)
        self._write(bytes(HEADER_BYTES) + metadata, self._end)
        body_offset = self._end + HEADER_BYTES + len(metadata)
        frame = self._write_body(spec, data, body_offset)
        has_other_crc = spec.crc_after not in (None, frame.running_crc)
        if frame.length != spec.length or has_other_crc:
            raise SourceChangedError("The source changed while it was being read.")
        self._write(pack_header(frame, metadata), self._end)
        return frame

    def _write_body(
        self, spec: FrameSpec, data: Iterable[_Chunk], body_offset: int
    ) -> ArchiveFrame:
        """Compress and write the bytes chunk by chunk; return the resulting frame.

        The running checksum covers the source's bytes, even if a mask replaces some.
        If there are more or fewer bytes than expected, stop early and return a frame
        with another length than `spec`.
        """
        import zstandard  # noqa: PLC0415 - slow to import, and few commands need it

        zstd = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
        compressor = zstd.compressobj(size=spec.length)
        length, crc, running_crc, body_crc = 0, 0, spec.crc_before, 0
        at = body_offset
        # The empty chunk at the end flushes the compressor.
        for original, chunk in chain(data, [(b"", b"")]):
            length += len(chunk)
            if length > spec.length or (not chunk and length < spec.length):
                break
            # As long as both checksums cover the same bytes, compute only one.
            is_same = chunk is original and crc == running_crc
            crc = zlib.crc32(chunk, crc)
            running_crc = crc if is_same else zlib.crc32(original, running_crc)
            compressed = compressor.compress(chunk) if chunk else compressor.flush()
            body_crc = zlib.crc32(compressed, body_crc)
            at += self._write(compressed, at)
        return ArchiveFrame(
            kind=spec.kind,
            generation=spec.generation,
            offset=spec.offset,
            length=length,
            crc=crc,
            running_crc=running_crc,
            metadata=spec.metadata,
            file_offset=self._end,
            body_offset=body_offset,
            body_length=at - body_offset,
            body_crc=body_crc,
        )

    def _write(self, data: bytes, at: int) -> int:
        """Write all bytes at an offset of the file; return their number."""
        view = memoryview(data)
        while view:
            written = os.pwrite(self._fd, view, at)
            view, at = view[written:], at + written
        return len(data)


def _mask_chunks(
    spec: FrameSpec, data: Iterable[bytes], mask: Mask | None
) -> Iterator[_Chunk]:
    """Yield chunks of the source's bytes, each with the bytes to store."""
    if mask is None:
        yield from ((chunk, chunk) for chunk in data if chunk)
        return
    line_parts: list[bytes] = []
    for chunk in data:
        lines = chunk.split(b"\n") if spec.kind == FrameKind.LOG else [chunk]
        for line in lines[:-1]:
            source = b"".join([*line_parts, line])
            line_parts = []
            yield source + b"\n", mask(source) + b"\n"
        line_parts.append(lines[-1])
    if source := b"".join(line_parts):
        yield source, mask(source)


def _make_write_error(path: Path, error: OSError) -> ArchiveError:
    return ArchiveError(
        f"The archive file {path} cannot be written: {error.strerror}.",
        "Nothing was lost. Free some space or check the disk.",
    )
