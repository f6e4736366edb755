"""The form of an archive file: frames, each a header and zstd data.

A header is written after its data, over zeros: a frame that was not finished shows as
zeros or as a header whose data goes beyond the file. Anything else that does not fit
is damage, and damage is told, never cut away.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import msgspec

from leslied.errors import LesliedError

MAGIC = b"LSLA"
FORMAT_VERSION = 1
_HEADER = struct.Struct(">4sHHIIQQQIIQI")
_CRC = struct.Struct(">I")
HEADER_BYTES = _HEADER.size + _CRC.size
_SEARCH_BLOCK_BYTES = 1 << 20
_ZERO_TAIL = bytes(16)


class ArchiveError(LesliedError):
    """An archive file does not hold what it should; the sentence names the place."""


class ArchiveVersionError(ArchiveError):
    """The file was written by a newer leslied."""

    exit_code = 3


class FrameKind(IntEnum):
    """What a frame's bytes are."""

    LOG = 1
    """Whole lines that continue the generation."""
    TAIL = 2
    """A last line without its end; the next LOG frame holds it anew."""
    DOCUMENT = 3
    """The whole file."""
    SPILL = 4
    """The text of a tool result that the agent kept in a file of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFrame:
    """One header, and where its data stand."""

    kind: int
    generation: int
    offset: int
    length: int
    crc: int
    """Of the bytes."""
    running_crc: int
    """Of the generation's bytes from its first to this frame's last."""
    metadata: dict[str, Any] = field(default_factory=dict)
    file_offset: int = 0
    body_offset: int = 0
    body_length: int = 0
    body_crc: int = 0
    """Of the compressed bytes."""

    @property
    def end(self) -> int:
        """Where the frame ends in the archive file."""
        return self.body_offset + self.body_length

    @property
    def source_end(self) -> int:
        """Where the bytes end in the source."""
        return self.offset + self.length


@dataclass(slots=True)
class FrameScan:
    """What stands in a file: whole frames, and places that make no sense."""

    frames: list[ArchiveFrame] = field(default_factory=list)
    damaged_offsets: list[int] = field(default_factory=list)
    end: int = 0
    """What stands after this was never finished."""


def pack_header(frame: ArchiveFrame, metadata: bytes) -> bytes:
    """The header without the label that follows it."""
    fixed = _HEADER.pack(
        MAGIC,
        FORMAT_VERSION,
        frame.kind,
        len(metadata),
        zlib.crc32(metadata),
        frame.generation,
        frame.offset,
        frame.length,
        frame.crc,
        frame.running_crc,
        frame.body_length,
        frame.body_crc,
    )
    return fixed + _CRC.pack(zlib.crc32(fixed))


def scan_frames(fd: int, name: str) -> FrameScan:
    """Every frame's header; bodies are not read, but for a last one that looks empty.

    Refuses a file that a newer program wrote.
    """
    found, at, size = FrameScan(), 0, os.fstat(fd).st_size
    while at < size:
        frame = read_header(fd, at, name)
        if frame is not None and frame.end <= size:
            found.frames.append(frame)
            at = found.end = frame.end
            continue
        later = _find_header(fd, at + 1, size, name)
        if later is None:
            if frame is None and not _is_unfinished(fd, at, size):
                found.damaged_offsets.append(at)
                found.end = size
            break
        found.damaged_offsets.append(at)
        at = later
    return found


def read_header(fd: int, at: int, name: str) -> ArchiveFrame | None:
    """The frame that starts here; None where no whole header stands."""
    data = os.pread(fd, HEADER_BYTES, at)
    if data[:4] == MAGIC and len(data) >= 6:
        _check_version(int.from_bytes(data[4:6], "big"), name)
    if not _is_valid_header(data):
        return None
    _, _, kind, length, label_crc, *numbers, body_length, body_crc = _HEADER.unpack(
        data[:-4]
    )
    label = os.pread(fd, length, at + HEADER_BYTES)
    if zlib.crc32(label) != label_crc:
        return None
    generation, offset, size, own, running = numbers
    return ArchiveFrame(
        kind=kind,
        generation=generation,
        offset=offset,
        length=size,
        crc=own,
        running_crc=running,
        metadata=msgspec.json.decode(label),
        file_offset=at,
        body_offset=at + HEADER_BYTES + length,
        body_length=body_length,
        body_crc=body_crc,
    )


def _is_valid_header(data: bytes) -> bool:
    """Whether these bytes are a header, every bit as written."""
    is_ours = len(data) == HEADER_BYTES and data[:4] == MAGIC
    return is_ours and _CRC.unpack(data[-4:])[0] == zlib.crc32(data[:-4])


def has_zero_tail(fd: int, frame: ArchiveFrame) -> bool:
    """Zeros where data should end: the file grew and its bytes never came."""
    last = os.pread(
        fd, len(_ZERO_TAIL), max(frame.body_offset, frame.end - len(_ZERO_TAIL))
    )
    return frame.body_length > 0 and not last.strip(b"\0")


def _check_version(version: int, name: str) -> None:
    if version > FORMAT_VERSION:
        raise ArchiveVersionError(
            f"The archive file {name} was written by a newer leslied "
            f"(form {version}, this program knows {FORMAT_VERSION}).",
            "Update leslied; nothing was changed.",
        )


def _find_header(fd: int, start: int, size: int, name: str) -> int | None:
    """Where the next whole frame stands."""
    at = start
    while at < size:
        data = os.pread(fd, _SEARCH_BLOCK_BYTES + len(MAGIC) - 1, at)
        found = data.find(MAGIC)
        while found >= 0:
            try:
                frame = read_header(fd, at + found, name)
            except ArchiveVersionError:
                frame = None
            if frame is not None and frame.end <= size:
                return at + found
            found = data.find(MAGIC, found + 1)
        at += _SEARCH_BLOCK_BYTES
    return None


def _is_unfinished(fd: int, at: int, size: int) -> bool:
    """A header that was cut short, or never written over its zeros."""
    data = os.pread(fd, HEADER_BYTES, at)
    if len(data) < HEADER_BYTES or not data.strip(b"\0"):
        return True
    if _is_valid_header(data):
        return at + HEADER_BYTES + int.from_bytes(data[8:12], "big") > size
    rest = os.pread(fd, _SEARCH_BLOCK_BYTES, at + HEADER_BYTES)
    return not rest.strip(b"\0")
