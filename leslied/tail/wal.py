"""Find out whether a SQLite WAL contains a transaction, without using SQLite.

The format is described at https://www.sqlite.org/walformat.html.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from pathlib import Path

WAL = "-wal"
"""End of the name of a database's WAL."""
_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_BYTE_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
"""Magic numbers of a WAL, and the byte order of its checksums."""
_PAGE_SIZES = range(512, 65537)
_MAX_FRAMES = 4_000
"""Frames searched for the end of the first transaction: about a second of work."""


def has_commit(path: Path) -> bool:
    """Return whether the WAL at `path` contains at least one complete transaction.

    SQLite deletes a WAL without one when it closes the database, and leslied must not
    delete an agent's files. Raise SourceError if the first transaction is too long.
    """
    if not path.exists():
        return False
    with open_regular(path) as fd:
        header = read_at(fd, _HEADER_BYTES, 0)
        byte_order = _BYTE_ORDERS.get(int.from_bytes(header[:4], "big"))
        page_bytes = int.from_bytes(header[8:12], "big")
        if len(header) < _HEADER_BYTES or byte_order is None:
            return False
        if page_bytes not in _PAGE_SIZES:
            return False
        sums = _update_checksum(byte_order, header[:24], (0, 0))
        if sums != struct.unpack(">II", header[24:]):
            return False
        frame_bytes = _FRAME_HEADER_BYTES + page_bytes
        for number in range(_MAX_FRAMES):
            frame = read_at(fd, frame_bytes, _HEADER_BYTES + number * frame_bytes)
            # A frame with other salts than the header's is left from an older WAL.
            if len(frame) < frame_bytes or frame[8:16] != header[16:24]:
                return False
            sums = _update_checksum(
                byte_order, frame[:8] + frame[_FRAME_HEADER_BYTES:], sums
            )
            if sums != struct.unpack(">II", frame[16:24]):
                return False
            # Only the last frame of a transaction has the size of the database here.
            if any(frame[4:8]):
                return True
    raise SourceError("has a write-ahead log that only its agent can read")


def _update_checksum(
    byte_order: str, data: bytes, sums: tuple[int, int]
) -> tuple[int, int]:
    """Return SQLite's cumulative checksum after `data`."""
    first, second = sums
    words = struct.unpack(f"{byte_order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
