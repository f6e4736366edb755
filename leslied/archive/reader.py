"""Read archived bytes in chunks of bounded size and verify their checksums."""

from __future__ import annotations

import os
import zlib
from bisect import bisect
from typing import TYPE_CHECKING, NamedTuple, Self

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
    """List every archive file below the folder."""
    return sorted(folder.glob("*/??/*.zst"))


class FilePart(NamedTuple):
    """A frame, or a region without a valid header, in an archive file."""

    start: int
    end: int
    frame: ArchiveFrame | None
    damage: str
    """What is wrong with the part; "" if it is undamaged."""


class ArchiveReader:
    """Reader of one source's archive file. Use it as a context manager, or close it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise ArchiveError(
                f"The archive file {path} cannot be opened: {error.strerror}."
            ) from error
        try:
            scan = scan_frames(self._fd, str(path))
        except BaseException as error:
            os.close(self._fd)
            if isinstance(error, OSError):
                raise _make_read_error(path, error) from error
            raise
        self.frames = scan.frames
        self.damaged_offsets = scan.damaged_offsets
        self.mtime_ns = os.fstat(self._fd).st_mtime_ns
        """Modification time of the file."""
        self.size = scan.end
        """Size of the file without an unfinished frame at its end."""
        # A last frame that is damaged and ends in zeros did not reach the disk.
        if self.frames and self.size == self.frames[-1].end:
            last = self.frames[-1]
            if has_zero_tail(self._fd, last) and find_frame_damage(self._fd, last):
                self.size = self.frames.pop().file_offset

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def list_frames_by_generation(self) -> dict[int, list[ArchiveFrame]]:
        """Group the frames of the source's own bytes by generation, in order.

        Omit SPILL frames, and a TAIL frame whose line a later frame contains again.
        """
        generations: dict[int, list[ArchiveFrame]] = {}
        for frame in self.frames:
            if frame.kind == FrameKind.SPILL:
                continue
            frames = generations.setdefault(frame.generation, [])
            while frames and frames[-1].source_end > frame.offset:
                frames.pop()
            frames.append(frame)
        return dict(sorted(generations.items()))

    def read_frame(self, frame: ArchiveFrame) -> Iterator[bytes]:
        """Yield the frame's bytes in chunks; raise ArchiveError if they are damaged."""
        try:
            yield from _read_body(self._fd, frame)
        except ValueError as error:
            raise ArchiveError(
                f"{self._describe_frame(frame)} is damaged: {error}."
            ) from error

    def find_damage(self) -> list[str]:
        """Verify the whole file; return a message for each damaged frame or region."""
        return [part.damage for part in self.list_parts() if part.damage]

    def list_parts(self) -> list[FilePart]:
        """Verify the whole file; return its frames and damaged regions in order."""
        starts = [*(frame.file_offset for frame in self.frames), self.size]
        regions = [
            FilePart(at, starts[bisect(starts, at)], None, self._describe_region(at))
            for at in self.damaged_offsets
        ]
        frames = [
            FilePart(frame.file_offset, frame.end, frame, self._describe_damage(frame))
            for frame in self.frames
        ]
        return sorted([*regions, *frames], key=lambda part: part.start)

    def iter_verified_bytes(self) -> Iterator[int]:
        """Verify the frames piece by piece; yield the size of each piece.

        Raise ArchiveError for the first damage.
        """
        if self.damaged_offsets:
            raise ArchiveError(self._describe_region(self.damaged_offsets[0]) + ".")
        for frame in self.frames:
            yield from map(len, self.read_frame(frame))

    def read_part(self, part: FilePart) -> Iterator[bytes]:
        """Yield the bytes of a part as they are; raise ArchiveError on a read error."""
        at = part.start
        while at < part.end:
            try:
                data = os.pread(self._fd, min(_CHUNK_BYTES, part.end - at), at)
            except OSError as error:
                raise _make_read_error(self.path, error) from error
            if not data:
                return
            yield data
            at += len(data)

    def _describe_damage(self, frame: ArchiveFrame) -> str:
        """Verify a frame; return a message if it is damaged, else ""."""
        reason = find_frame_damage(self._fd, frame)
        return f"{self._describe_frame(frame)} is damaged: {reason}" if reason else ""

    def _describe_region(self, at: int) -> str:
        return f"{self.path}: there is no valid frame at byte {at}"

    def _describe_frame(self, frame: ArchiveFrame) -> str:
        return (
            f"{self.path}: the frame at byte {frame.file_offset} (generation "
            f"{frame.generation}, bytes {frame.offset} to {frame.source_end})"
        )


def _make_read_error(path: Path, error: OSError) -> ArchiveError:
    return ArchiveError(
        f"The archive file {path} cannot be read: {error.strerror}.",
        "Check the disk.",
    )


def find_frame_damage(fd: int, frame: ArchiveFrame) -> str:
    """Verify a frame's data; return the reason if it is damaged, else ""."""
    try:
        for _ in _read_body(fd, frame):
            pass
    except ValueError as error:
        return str(error)
    return ""


def _read_body(fd: int, frame: ArchiveFrame) -> Iterator[bytes]:
    """Yield the frame's uncompressed bytes; raise ValueError if they are damaged."""
    import zstandard  # noqa: PLC0415 - slow to import, and few commands need it

    crc, length = 0, 0
    body = _FrameBody(fd, frame)
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as stream:  # type: ignore[arg-type]
            while data := stream.read(_CHUNK_BYTES):
                crc, length = zlib.crc32(data, crc), length + len(data)
                yield data
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    except OSError as error:
        # A disk that cannot read a block any more damages a file like a changed bit.
        raise ValueError(f"cannot be read: {error.strerror}") from error
    if (crc, length) != (frame.crc, frame.length) or not body.has_valid_checksum():
        raise ValueError("the checksum does not match")


class _FrameBody:
    """File-like view of a frame's compressed bytes."""

    def __init__(self, fd: int, frame: ArchiveFrame) -> None:
        self._fd = fd
        self._at = frame.body_offset
        self._end = frame.end
        self._crc = 0
        self._expected_crc = frame.body_crc

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes; return b"" at the end of the frame."""
        remaining = self._end - self._at
        length = remaining if size < 0 else min(size, remaining)
        data = os.pread(self._fd, length, self._at)
        self._at += len(data)
        self._crc = zlib.crc32(data, self._crc)
        return data

    def has_valid_checksum(self) -> bool:
        """Read up to the end; return whether all compressed bytes match their CRC."""
        while self._at < self._end and self.read(_CHUNK_BYTES):
            pass
        return self._crc == self._expected_crc
