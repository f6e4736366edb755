"""Whether a SQLite log of writes holds anything, found out without SQLite."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from pathlib import Path

_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_BYTE_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first number of a log tells the byte order of its checksums."""
_PAGE_SIZES = range(512, 65537)
_MAX_FRAMES = 4_000
"""So far the end of the first transaction is looked for: about a second of work."""


def has_commit(path: Path) -> bool:
    """Whether the log at `path` holds at least one whole transaction.

    SQLite takes a log without one away when it closes the database, and what an agent
    wrote is not ours to take away.
    """
    if not path.exists():
        return False
    with open_regular(path) as fd:
        header = read_at(fd, _HEADER_BYTES, 0)
        order = _BYTE_ORDERS.get(int.from_bytes(header[:4], "big"))
        page = int.from_bytes(header[8:12], "big")
        if order is None or len(header) < _HEADER_BYTES or page not in _PAGE_SIZES:
            return False
        sums = _update_checksum(order, header[:24], (0, 0))
        if sums != struct.unpack(">II", header[24:]):
            return False
        for nth in range(_MAX_FRAMES):
            frame = read_at(
                fd,
                _FRAME_HEADER_BYTES + page,
                _HEADER_BYTES + nth * (_FRAME_HEADER_BYTES + page),
            )
            if len(frame) < _FRAME_HEADER_BYTES + page or frame[8:16] != header[16:24]:
                return False
            sums = _update_checksum(
                order, frame[:8] + frame[_FRAME_HEADER_BYTES:], sums
            )
            if sums != struct.unpack(">II", frame[16:24]):
                return False
            if any(frame[4:8]):
                return True
    raise SourceError("has a log of writes that only its agent can read")


def _update_checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """SQLite's running checksum."""
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
