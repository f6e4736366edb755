"""Getting archived bytes back, each checked, in pieces of bounded size."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Self

from leslied.archive.format import (
    ArchiveError,
    Frame,
    Kind,
    is_empty_at_end,
    scan,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PIECE = 1 << 20


def find_files(folder: Path) -> list[Path]:
    """Every archive file below the folder."""
    return sorted(folder.glob("*/??/*.zst"))


class Reader:
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
            found = scan(self._fd, str(path))
        except BaseException:
            os.close(self._fd)
            raise
        self.frames = found.frames
        self.damaged = found.damaged
        self.size = found.end
        """Where the last whole frame ends."""
        if self.frames and self.size == self.frames[-1].end:
            last = self.frames[-1]
            if is_empty_at_end(self._fd, last) and check_frame(self._fd, last):
                self.size = self.frames.pop().at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def generations(self) -> dict[int, list[Frame]]:
        """The frames to read, one after the other, for each generation's bytes.

        An unended line that a later frame holds anew is left out.
        """
        found: dict[int, list[Frame]] = {}
        for frame in self.frames:
            if frame.kind == Kind.SPILL:
                continue
            mine = found.setdefault(frame.generation, [])
            while mine and mine[-1].reaches > frame.offset:
                mine.pop()
            mine.append(frame)
        return dict(sorted(found.items()))

    def read(self, frame: Frame) -> Iterator[bytes]:
        """The frame's bytes; an error once they turn out not to be what was written."""
        try:
            yield from _read_body(self._fd, frame)
        except ValueError as error:
            raise ArchiveError(f"{self._name(frame)} is damaged: {error}.") from error

    def check(self) -> list[str]:
        """A sentence for each damaged place; none when every byte is as written."""
        told = [
            f"{self.path}: what stands at byte {at} is no frame" for at in self.damaged
        ]
        for frame in self.frames:
            reason = check_frame(self._fd, frame)
            if reason:
                told.append(f"{self._name(frame)} is damaged: {reason}")
        return told

    def _name(self, frame: Frame) -> str:
        return (
            f"{self.path}: the frame at byte {frame.at} (generation "
            f"{frame.generation}, bytes {frame.offset} to {frame.reaches})"
        )


def check_frame(fd: int, frame: Frame) -> str:
    """What is wrong with a frame's data; empty when nothing is."""
    try:
        for _ in _read_body(fd, frame):
            pass
    except ValueError as error:
        return str(error)
    return ""


def _read_body(fd: int, frame: Frame) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - only who reads the archive pays for it

    crc, length = 0, 0
    body = _Body(fd, frame)
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as unpacking:  # type: ignore[arg-type]
            while data := unpacking.read(_PIECE):
                crc, length = zlib.crc32(data, crc), length + len(data)
                yield data
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if (crc, length) != (frame.crc, frame.length) or not body.is_as_written():
        raise ValueError("the checksum is another")


class _Body:
    """A frame's compressed bytes as something to read from."""

    def __init__(self, fd: int, frame: Frame) -> None:
        self._fd = fd
        self._at = frame.body
        self._end = frame.end
        self._crc = 0
        self._wanted = frame.body_crc

    def read(self, size: int = -1) -> bytes:
        """The next bytes; none where the frame ends."""
        left = self._end - self._at
        data = os.pread(self._fd, left if size < 0 else min(size, left), self._at)
        self._at += len(data)
        self._crc = zlib.crc32(data, self._crc)
        return data

    def is_as_written(self) -> bool:
        """Whether every compressed byte, read or not, is what was written."""
        while self._at < self._end and self.read(_PIECE):
            pass
        return self._crc == self._wanted
