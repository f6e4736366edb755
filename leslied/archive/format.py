"""Format of an archive file: a sequence of frames, each a header and zstd data.

The header is written after its data, over zeros. An unfinished frame therefore has
either zeros as its header or data that ends beyond the end of the file. Everything else
that cannot be parsed is damage, which is reported and never truncated.
"""

from __future__ import annotations

import os
import struct
import zlib
from enum import IntEnum
from typing import Any

import msgspec
from msgspec import Struct, field

from leslied.errors import LesliedError

MAGIC = b"LSLA"
FORMAT_VERSION = 1
_HEADER = struct.Struct(">4sHHIIQQQIIQI")
_CRC = struct.Struct(">I")
HEADER_BYTES = _HEADER.size + _CRC.size
_SEARCH_BLOCK_BYTES = 1 << 20
_ZERO_TAIL_BYTES = 16
"""Number of last bytes that are checked for zeros."""


class ArchiveError(LesliedError):
    """Damaged or unusable archive file; the message names the file and position."""


class SourceChangedError(ArchiveError):
    """The bytes of a source are not those that a frame must contain."""


class ArchiveVersionError(ArchiveError):
    """Archive file or manifest written by a newer version of leslied."""

    exit_code = 3


class FrameKind(IntEnum):
    """Kind of data in a frame."""

    LOG = 1
    """Complete lines that continue the generation."""
    TAIL = 2
    """A last line without a newline; the next LOG frame contains it again."""
    DOCUMENT = 3
    """The content of a whole file."""
    SPILL = 4
    """The text of a tool result that the agent stored in a separate file."""


class ArchiveFrame(Struct, frozen=True, kw_only=True):
    """One frame: its header fields and the position of its data.

    `offset` and `length` are those of the frame's bytes in the source; positions in the
    archive file are called `file_offset` and `body_offset`.
    """

    kind: int
    generation: int
    offset: int
    length: int
    crc: int
    """CRC-32 of the uncompressed bytes."""
    running_crc: int
    """CRC-32 of the generation's bytes up to the end of this frame."""
    metadata: dict[str, Any] = field(default_factory=dict)
    file_offset: int = 0
    body_offset: int = 0
    body_length: int = 0
    body_crc: int = 0
    """CRC-32 of the compressed bytes."""

    @property
    def end(self) -> int:
        """Offset in the archive file at which the frame ends."""
        return self.body_offset + self.body_length

    @property
    def source_end(self) -> int:
        """Offset in the source at which the frame's bytes end."""
        return self.offset + self.length


class FrameScan(Struct):
    """Result of scanning a file: complete frames and offsets of damage."""

    frames: list[ArchiveFrame] = field(default_factory=list)
    damaged_offsets: list[int] = field(default_factory=list)
    end: int = 0
    """Bytes after this offset belong to a frame that was never finished."""


def pack_header(frame: ArchiveFrame, metadata: bytes) -> bytes:
    """Encode the header, without the metadata that follows it."""
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


def scan_frames(fd: int, file_name: str) -> FrameScan:
    """Read all frame headers and find damaged regions, without verifying the data.

    Raise ArchiveVersionError if a newer version of leslied wrote the file; its message
    contains `file_name`.
    """
    scan, at, size = FrameScan(), 0, os.fstat(fd).st_size
    while at < size:
        frame = read_header(fd, at, file_name)
        if frame is not None and frame.end <= size:
            scan.frames.append(frame)
            at = scan.end = frame.end
            continue
        next_frame_at = _find_complete_frame(fd, at + 1, size, file_name)
        if next_frame_at is None:
            if frame is None and not _is_unfinished(fd, at, size):
                scan.damaged_offsets.append(at)
                scan.end = size
            break
        scan.damaged_offsets.append(at)
        at = next_frame_at
    return scan


def read_header(fd: int, at: int, file_name: str) -> ArchiveFrame | None:
    """Read the frame header at an offset; return None if it is not valid.

    Raise ArchiveVersionError if a newer version of leslied wrote the frame.
    """
    data = os.pread(fd, HEADER_BYTES, at)
    # The version, two bytes after the magic, is checked before the checksum, because
    # the rest of a newer header may differ.
    if data[:4] == MAGIC and len(data) >= 6 and not _has_damaged_version(data):
        _check_version(int.from_bytes(data[4:6], "big"), file_name)
    if not _is_valid_header(data):
        return None
    fields = _HEADER.unpack(data[: -_CRC.size])
    _, _, kind, metadata_length, metadata_crc, *numbers, body_length, body_crc = fields
    metadata = os.pread(fd, metadata_length, at + HEADER_BYTES)
    if zlib.crc32(metadata) != metadata_crc:
        return None
    generation, offset, length, crc, running_crc = numbers
    return ArchiveFrame(
        kind=kind,
        generation=generation,
        offset=offset,
        length=length,
        crc=crc,
        running_crc=running_crc,
        metadata=msgspec.json.decode(metadata),
        file_offset=at,
        body_offset=at + HEADER_BYTES + metadata_length,
        body_length=body_length,
        body_crc=body_crc,
    )


def _is_valid_header(data: bytes) -> bool:
    """Return whether these bytes are a header with a valid checksum."""
    has_magic = len(data) == HEADER_BYTES and data[:4] == MAGIC
    return has_magic and _CRC.unpack(data[-4:])[0] == zlib.crc32(data[:-4])


def _has_damaged_version(data: bytes) -> bool:
    """Return whether the version of a header is damaged and the rest of it is not.

    With this format's version, the header then has the right checksum. The checksum in
    the header of a newer leslied is another one, because it includes the newer version.
    """
    version = FORMAT_VERSION.to_bytes(2, "big")
    return data[4:6] != version and _is_valid_header(data[:4] + version + data[6:])


def has_zero_tail(fd: int, frame: ArchiveFrame) -> bool:
    """Return whether the frame's data ends in zeros.

    After a power loss a file can have its new size but not its new bytes.
    """
    tail_offset = max(frame.body_offset, frame.end - _ZERO_TAIL_BYTES)
    tail = os.pread(fd, _ZERO_TAIL_BYTES, tail_offset)
    return frame.body_length > 0 and not tail.strip(b"\0")


def _check_version(version: int, file_name: str) -> None:
    if version > FORMAT_VERSION:
        raise ArchiveVersionError(
            f"The archive file {file_name} was written by a newer leslied "
            f"(format {version}; this version reads up to {FORMAT_VERSION}).",
            "Update leslied; nothing was changed.",
        )


def _find_complete_frame(fd: int, start: int, size: int, file_name: str) -> int | None:
    """Return the offset of the first complete frame from `start` on, or None."""
    at = start
    while at < size:
        # Blocks overlap, so that MAGIC is found where it crosses the end of a block.
        data = os.pread(fd, _SEARCH_BLOCK_BYTES + len(MAGIC) - 1, at)
        index = data.find(MAGIC)
        while index >= 0:
            try:
                frame = read_header(fd, at + index, file_name)
            except ArchiveVersionError:
                frame = None
            if frame is not None and frame.end <= size:
                return at + index
            index = data.find(MAGIC, index + 1)
        at += _SEARCH_BLOCK_BYTES
    return None


def _is_unfinished(fd: int, at: int, size: int) -> bool:
    """Return whether the bytes at an offset are a frame that was never finished.

    That is so if the header is truncated or zero, if the metadata ends beyond the file,
    or if only zeros follow the header.
    """
    data = os.pread(fd, HEADER_BYTES, at)
    if len(data) < HEADER_BYTES or not data.strip(b"\0"):
        return True
    if _is_valid_header(data):
        _, _, _, metadata_length, *_ = _HEADER.unpack(data[: -_CRC.size])
        return bool(at + HEADER_BYTES + metadata_length > size)
    following = os.pread(fd, _SEARCH_BLOCK_BYTES, at + HEADER_BYTES)
    return not following.strip(b"\0")
