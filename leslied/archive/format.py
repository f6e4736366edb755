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
VERSION = 1
_FIXED = struct.Struct(">4sHHIIQQQIIQI")
_CRC = struct.Struct(">I")
FIXED = _FIXED.size + _CRC.size
_LOOK = 1 << 20
_EMPTY_END = bytes(16)


class ArchiveError(LesliedError):
    """An archive file does not hold what it should; the sentence names the place."""


class ArchiveNewer(ArchiveError):  # noqa: N818 - a state, not an accident
    """The file was written by a newer leslied."""

    exit_code = 3


class Kind(IntEnum):
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
class Frame:
    """One header, and where its data stand."""

    kind: int
    generation: int
    offset: int
    length: int
    crc: int
    """Of the bytes."""
    running_crc: int
    """Of the generation's bytes from its first to this frame's last."""
    label: dict[str, Any] = field(default_factory=dict)
    at: int = 0
    body: int = 0
    body_length: int = 0
    body_crc: int = 0
    """Of the compressed bytes."""

    @property
    def end(self) -> int:
        """Where the frame ends in the archive file."""
        return self.body + self.body_length

    @property
    def reaches(self) -> int:
        """Where the bytes end in the source."""
        return self.offset + self.length


@dataclass(slots=True)
class Scan:
    """What stands in a file: whole frames, and places that make no sense."""

    frames: list[Frame] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    end: int = 0
    """What stands after this was never finished."""


def pack_header(frame: Frame, label: bytes) -> bytes:
    """The header without the label that follows it."""
    fixed = _FIXED.pack(
        MAGIC,
        VERSION,
        frame.kind,
        len(label),
        zlib.crc32(label),
        frame.generation,
        frame.offset,
        frame.length,
        frame.crc,
        frame.running_crc,
        frame.body_length,
        frame.body_crc,
    )
    return fixed + _CRC.pack(zlib.crc32(fixed))


def scan(fd: int, name: str) -> Scan:
    """Every frame's header; bodies are not read, but for a last one that looks empty.

    Refuses a file that a newer program wrote.
    """
    found, at, size = Scan(), 0, os.fstat(fd).st_size
    while at < size:
        frame = read_header(fd, at, name)
        if frame is not None and frame.end <= size:
            found.frames.append(frame)
            at = found.end = frame.end
            continue
        later = _find_header(fd, at + 1, size, name)
        if later is None:
            if frame is None and not _is_unfinished(fd, at, size):
                found.damaged.append(at)
                found.end = size
            break
        found.damaged.append(at)
        at = later
    return found


def read_header(fd: int, at: int, name: str) -> Frame | None:
    """The frame that starts here; None where no whole header stands."""
    data = os.pread(fd, FIXED, at)
    if data[:4] == MAGIC and len(data) >= 6:
        _refuse_newer(int.from_bytes(data[4:6], "big"), name)
    if not _is_whole(data):
        return None
    _, _, kind, length, label_crc, *numbers, body_length, body_crc = _FIXED.unpack(
        data[:-4]
    )
    label = os.pread(fd, length, at + FIXED)
    if zlib.crc32(label) != label_crc:
        return None
    generation, offset, size, own, running = numbers
    return Frame(
        kind=kind,
        generation=generation,
        offset=offset,
        length=size,
        crc=own,
        running_crc=running,
        label=msgspec.json.decode(label),
        at=at,
        body=at + FIXED + length,
        body_length=body_length,
        body_crc=body_crc,
    )


def _is_whole(data: bytes) -> bool:
    """Whether these bytes are a header, every bit as written."""
    is_ours = len(data) == FIXED and data[:4] == MAGIC
    return is_ours and _CRC.unpack(data[-4:])[0] == zlib.crc32(data[:-4])


def is_empty_at_end(fd: int, frame: Frame) -> bool:
    """Zeros where data should end: the file grew and its bytes never came."""
    last = os.pread(fd, len(_EMPTY_END), max(frame.body, frame.end - len(_EMPTY_END)))
    return frame.body_length > 0 and not last.strip(b"\0")


def _refuse_newer(version: int, name: str) -> None:
    if version > VERSION:
        raise ArchiveNewer(
            f"The archive file {name} was written by a newer leslied "
            f"(form {version}, this program knows {VERSION}).",
            "Update leslied; nothing was changed.",
        )


def _find_header(fd: int, start: int, size: int, name: str) -> int | None:
    """Where the next whole frame stands."""
    at = start
    while at < size:
        data = os.pread(fd, _LOOK + len(MAGIC) - 1, at)
        found = data.find(MAGIC)
        while found >= 0:
            try:
                frame = read_header(fd, at + found, name)
            except ArchiveNewer:
                frame = None
            if frame is not None and frame.end <= size:
                return at + found
            found = data.find(MAGIC, found + 1)
        at += _LOOK
    return None


def _is_unfinished(fd: int, at: int, size: int) -> bool:
    """A header that was cut short, or never written over its zeros."""
    data = os.pread(fd, FIXED, at)
    if len(data) < FIXED or not data.strip(b"\0"):
        return True
    if _is_whole(data):
        return at + FIXED + int.from_bytes(data[8:12], "big") > size
    rest = os.pread(fd, _LOOK, at + FIXED)
    return not rest.strip(b"\0")
