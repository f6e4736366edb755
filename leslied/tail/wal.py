"""Whether a SQLite log of writes holds anything, found out without SQLite."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = 32
_FRAME = 24
_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""The first number of a log tells the byte order of its checksums."""
_PAGES = range(512, 65537)
_MOST_FRAMES = 4_000
"""So far the end of the first transaction is looked for: about a second of work."""


def holds_commit(path: Path) -> bool:
    """Whether the log at `path` holds at least one whole transaction.

    SQLite takes a log without one away when it closes the database, and what an agent
    wrote is not ours to take away.
    """
    if not path.exists():
        return False
    with open_regular(path) as fd:
        header = read_at(fd, _HEADER, 0)
        order = _ORDERS.get(int.from_bytes(header[:4], "big"))
        page = int.from_bytes(header[8:12], "big")
        if order is None or len(header) < _HEADER or page not in _PAGES:
            return False
        sums = _add(order, header[:24], (0, 0))
        if sums != struct.unpack(">II", header[24:]):
            return False
        for nth in range(_MOST_FRAMES):
            frame = read_at(fd, _FRAME + page, _HEADER + nth * (_FRAME + page))
            if len(frame) < _FRAME + page or frame[8:16] != header[16:24]:
                return False
            sums = _add(order, frame[:8] + frame[_FRAME:], sums)
            if sums != struct.unpack(">II", frame[16:24]):
                return False
            if any(frame[4:8]):
                return True
    raise SourceError("has a log of writes that only its agent can read")


def _add(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """SQLite's running checksum."""
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
