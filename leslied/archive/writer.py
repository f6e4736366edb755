"""Appending to archive files: a frame is whole and on disk, or it is not there."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import msgspec

from leslied.archive.format import (
    HEADER_BYTES,
    ArchiveError,
    ArchiveFrame,
    FrameKind,
    has_zero_tail,
    pack_header,
    scan_frames,
)
from leslied.archive.reader import check_frame
from leslied.paths import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

COMPRESSION_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSpec:
    """What a frame's bytes are, and what they must turn out to be."""

    kind: FrameKind
    generation: int
    offset: int = 0
    length: int
    crc_before: int = 0
    """Of the generation's bytes before these."""
    crc_after: int | None = None
    """What the running checksum must be afterwards; None where nobody knows."""
    metadata: dict[str, Any] = field(default_factory=dict)


def make_file_name(agent: str, path: bytes) -> str:
    """The archive file of a source, below the archive's folder."""
    digest = hashlib.sha256(agent.encode() + b"\0" + path).hexdigest()
    return f"{agent}/{digest[:2]}/{digest}.zst"


class ArchiveWriter:
    """One source's archive file; an unfinished frame at its end is gone once open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames: list[ArchiveFrame] = []
        self._end = 0
        try:
            make_private_dir(path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise _make_write_error(path, error) from error
        try:
            self._open()
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._end

    def find_last_frame(
        self, *kinds: FrameKind, generation: int | None = None
    ) -> ArchiveFrame | None:
        """The last frame of these kinds, in any generation or in this one."""
        for frame in reversed(self.frames):
            if frame.kind in kinds and generation in (None, frame.generation):
                return frame
        return None

    def append(self, spec: FrameSpec, data: Iterable[bytes]) -> ArchiveFrame:
        """The bytes are in the file, as one frame; or, on error, nothing has changed.

        Bytes that are not what the label says are an error.
        """
        try:
            frame = self._append(spec, data)
        except BaseException as error:
            os.ftruncate(self._fd, self._end)
            if isinstance(error, OSError):
                raise _make_write_error(self.path, error) from error
            raise
        self.frames.append(frame)
        self._end = frame.end
        return frame

    def sync(self) -> None:
        """Every frame outlives a power loss; a new file's name is its folder's."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise _make_write_error(self.path, error) from error

    def _open(self) -> None:
        found = scan_frames(self._fd, str(self.path))
        self.frames, self._end = found.frames, found.end
        if self.frames and found.end == self.frames[-1].end:
            last = self.frames[-1]
            if has_zero_tail(self._fd, last) and check_frame(self._fd, last):
                self._end = self.frames.pop().file_offset
        os.ftruncate(self._fd, self._end)

    def _append(self, spec: FrameSpec, data: Iterable[bytes]) -> ArchiveFrame:
        told = msgspec.json.encode(spec.metadata)
        self._write(bytes(HEADER_BYTES) + told, self._end)
        body = self._end + HEADER_BYTES + len(told)
        frame = self._write_body(spec, data, body)
        is_other = spec.crc_after not in (None, frame.running_crc)
        if frame.length != spec.length or is_other:
            raise ArchiveError("The bytes changed while they were read.")
        self._write(pack_header(frame, told), self._end)
        return frame

    def _write_body(
        self, spec: FrameSpec, data: Iterable[bytes], body: int
    ) -> ArchiveFrame:
        """The bytes, compressed piece by piece, and the frame they make."""
        import zstandard  # noqa: PLC0415 - only who archives pays for it

        packer = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
        packing = packer.compressobj(size=spec.length)
        length, crc, running, at, body_crc = 0, 0, spec.crc_before, body, 0
        for piece in _iter_then(data, b""):
            length += len(piece)
            if length > spec.length or (not piece and length < spec.length):
                break
            crc, running = zlib.crc32(piece, crc), zlib.crc32(piece, running)
            packed = packing.compress(piece) if piece else packing.flush()
            body_crc = zlib.crc32(packed, body_crc)
            at += self._write(packed, at)
        return ArchiveFrame(
            kind=spec.kind,
            generation=spec.generation,
            offset=spec.offset,
            length=length,
            crc=crc,
            running_crc=running,
            metadata=spec.metadata,
            file_offset=self._end,
            body_offset=body,
            body_length=at - body,
            body_crc=body_crc,
        )

    def _write(self, data: bytes, at: int) -> int:
        view = memoryview(data)
        while view:
            done = os.pwrite(self._fd, view, at)
            view, at = view[done:], at + done
        return len(data)


def _iter_then(data: Iterable[bytes], last: bytes) -> Iterator[bytes]:
    """The pieces that hold anything, and then the last."""
    yield from filter(None, data)
    yield last


def _make_write_error(path: Path, error: OSError) -> ArchiveError:
    return ArchiveError(
        f"The archive file {path} cannot be written: {error.strerror}.",
        "Nothing was lost. Free some space or check the disk.",
    )
