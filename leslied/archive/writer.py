"""Appending to archive files: a frame is whole and on disk, or it is not there."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import msgspec

from leslied.archive.format import (
    FIXED,
    ArchiveError,
    Frame,
    Kind,
    is_empty_at_end,
    pack_header,
    scan,
)
from leslied.archive.reader import check_frame
from leslied.paths import make_private_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a frame's bytes are, and what they must turn out to be."""

    kind: Kind
    generation: int
    offset: int = 0
    length: int
    crc_before: int = 0
    """Of the generation's bytes before these."""
    crc_after: int | None = None
    """What the running checksum must be afterwards; None where nobody knows."""
    told: dict[str, Any] = field(default_factory=dict)


def name_file(agent: str, path: bytes) -> str:
    """The archive file of a source, below the archive's folder."""
    digest = hashlib.sha256(agent.encode() + b"\0" + path).hexdigest()
    return f"{agent}/{digest[:2]}/{digest}.zst"


class Writer:
    """One source's archive file; an unfinished frame at its end is gone once open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames: list[Frame] = []
        self._end = 0
        try:
            make_private_dir(path.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise _cannot(path, error) from error
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

    def last(self, *kinds: Kind, generation: int | None = None) -> Frame | None:
        """The last frame of these kinds, in any generation or in this one."""
        for frame in reversed(self.frames):
            if frame.kind in kinds and generation in (None, frame.generation):
                return frame
        return None

    def append(self, label: Label, data: Iterable[bytes]) -> Frame:
        """The bytes are in the file, as one frame; or, on error, nothing has changed.

        Bytes that are not what the label says are an error.
        """
        try:
            frame = self._append(label, data)
        except BaseException as error:
            os.ftruncate(self._fd, self._end)
            if isinstance(error, OSError):
                raise _cannot(self.path, error) from error
            raise
        self.frames.append(frame)
        self._end = frame.end
        return frame

    def sync(self) -> None:
        """Every frame outlives a power loss; a new file's name is its folder's."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise _cannot(self.path, error) from error

    def _open(self) -> None:
        found = scan(self._fd, str(self.path))
        self.frames, self._end = found.frames, found.end
        if self.frames and found.end == self.frames[-1].end:
            last = self.frames[-1]
            if is_empty_at_end(self._fd, last) and check_frame(self._fd, last):
                self._end = self.frames.pop().at
        os.ftruncate(self._fd, self._end)

    def _append(self, label: Label, data: Iterable[bytes]) -> Frame:
        told = msgspec.json.encode(label.told)
        self._write(bytes(FIXED) + told, self._end)
        body = self._end + FIXED + len(told)
        frame = self._write_body(label, data, body)
        is_other = label.crc_after not in (None, frame.running_crc)
        if frame.length != label.length or is_other:
            raise ArchiveError("The bytes changed while they were read.")
        self._write(pack_header(frame, told), self._end)
        return frame

    def _write_body(self, label: Label, data: Iterable[bytes], body: int) -> Frame:
        """The bytes, compressed piece by piece, and the frame they make."""
        import zstandard  # noqa: PLC0415 - only who archives pays for it

        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        packing = packer.compressobj(size=label.length)
        length, crc, running, at, body_crc = 0, 0, label.crc_before, body, 0
        for piece in _end_with(data, b""):
            length += len(piece)
            if length > label.length or (not piece and length < label.length):
                break
            crc, running = zlib.crc32(piece, crc), zlib.crc32(piece, running)
            packed = packing.compress(piece) if piece else packing.flush()
            body_crc = zlib.crc32(packed, body_crc)
            at += self._write(packed, at)
        return Frame(
            kind=label.kind,
            generation=label.generation,
            offset=label.offset,
            length=length,
            crc=crc,
            running_crc=running,
            label=label.told,
            at=self._end,
            body=body,
            body_length=at - body,
            body_crc=body_crc,
        )

    def _write(self, data: bytes, at: int) -> int:
        view = memoryview(data)
        while view:
            done = os.pwrite(self._fd, view, at)
            view, at = view[done:], at + done
        return len(data)


def _end_with(data: Iterable[bytes], last: bytes) -> Iterator[bytes]:
    """The pieces that hold anything, and then the last."""
    yield from filter(None, data)
    yield last


def _cannot(path: Path, error: OSError) -> ArchiveError:
    return ArchiveError(
        f"The archive file {path} cannot be written: {error.strerror}.",
        "Nothing was lost. Free some space or check the disk.",
    )
