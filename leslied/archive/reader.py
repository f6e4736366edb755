"""Getting archived bytes back, each checked, in pieces of bounded size."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Self

from leslied.archive.format import (
    ArchiveError,
    ArchiveFrame,
    FrameKind,
    has_zero_tail,
    scan_frames,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK_BYTES = 1 << 20


def list_files(folder: Path) -> list[Path]:
    """Every archive file below the folder."""
    return sorted(folder.glob("*/??/*.zst"))


class ArchiveReader:
    """One source's archive file, as it was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise ArchiveError(
                f"The archive file {path} cannot be opened: {error.strerror}."
            ) from error
        try:
            found = scan_frames(self._fd, str(path))
        except BaseException:
            os.close(self._fd)
            raise
        self.frames = found.frames
        self.damaged_offsets = found.damaged_offsets
        self.size = found.end
        """Where the last whole frame ends."""
        if self.frames and self.size == self.frames[-1].end:
            last = self.frames[-1]
            if has_zero_tail(self._fd, last) and check_frame(self._fd, last):
                self.size = self.frames.pop().file_offset

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def list_frames_by_generation(self) -> dict[int, list[ArchiveFrame]]:
        """The frames to read, one after the other, for each generation's bytes.

        An unended line that a later frame holds anew is left out.
        """
        found: dict[int, list[ArchiveFrame]] = {}
        for frame in self.frames:
            if frame.kind == FrameKind.SPILL:
                continue
            mine = found.setdefault(frame.generation, [])
            while mine and mine[-1].source_end > frame.offset:
                mine.pop()
            mine.append(frame)
        return dict(sorted(found.items()))

    def read_frame(self, frame: ArchiveFrame) -> Iterator[bytes]:
        """The frame's bytes; an error once they turn out not to be what was written."""
        try:
            yield from _read_body(self._fd, frame)
        except ValueError as error:
            raise ArchiveError(
                f"{self._describe_frame(frame)} is damaged: {error}."
            ) from error

    def find_damage(self) -> list[str]:
        """A sentence for each damaged place; none when every byte is as written."""
        told = [
            f"{self.path}: what stands at byte {at} is no frame"
            for at in self.damaged_offsets
        ]
        for frame in self.frames:
            reason = check_frame(self._fd, frame)
            if reason:
                told.append(f"{self._describe_frame(frame)} is damaged: {reason}")
        return told

    def _describe_frame(self, frame: ArchiveFrame) -> str:
        return (
            f"{self.path}: the frame at byte {frame.file_offset} (generation "
            f"{frame.generation}, bytes {frame.offset} to {frame.source_end})"
        )


def check_frame(fd: int, frame: ArchiveFrame) -> str:
    """What is wrong with a frame's data; empty when nothing is."""
    try:
        for _ in _read_body(fd, frame):
            pass
    except ValueError as error:
        return str(error)
    return ""


def _read_body(fd: int, frame: ArchiveFrame) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - only who reads the archive pays for it

    crc, length = 0, 0
    body = _FrameBody(fd, frame)
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as unpacking:  # type: ignore[arg-type]
            while data := unpacking.read(_CHUNK_BYTES):
                crc, length = zlib.crc32(data, crc), length + len(data)
                yield data
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if (crc, length) != (frame.crc, frame.length) or not body.has_valid_checksum():
        raise ValueError("the checksum is another")


class _FrameBody:
    """A frame's compressed bytes as something to read from."""

    def __init__(self, fd: int, frame: ArchiveFrame) -> None:
        self._fd = fd
        self._at = frame.body_offset
        self._end = frame.end
        self._crc = 0
        self._expected_crc = frame.body_crc

    def read(self, size: int = -1) -> bytes:
        """The next bytes; none where the frame ends."""
        left = self._end - self._at
        data = os.pread(self._fd, left if size < 0 else min(size, left), self._at)
        self._at += len(data)
        self._crc = zlib.crc32(data, self._crc)
        return data

    def has_valid_checksum(self) -> bool:
        """Whether every compressed byte, read or not, is what was written."""
        while self._at < self._end and self.read(_CHUNK_BYTES):
            pass
        return self._crc == self._expected_crc
