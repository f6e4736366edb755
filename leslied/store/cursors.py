"""Convert cursors and file stamps to column values and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.source import Cursor, FileStamp

if TYPE_CHECKING:
    from collections.abc import Iterable

STAMP_COLUMNS = FileStamp._fields
CURSOR_COLUMNS = (
    "generation",
    "offset",
    "crc",
    "anchor",
    "scanned",
    "finished",
    "state",
    *STAMP_COLUMNS,
)
NO_STAMP = FileStamp(0, 0, -1, 0, 0)
"""A stamp that no file has."""
_UINT64_RANGE = 2**64


def pack_cursor(cursor: Cursor) -> tuple[Any, ...]:
    """Return the values of CURSOR_COLUMNS for a cursor."""
    return (
        cursor.generation,
        cursor.offset,
        cursor.crc,
        cursor.anchor,
        cursor.scanned,
        cursor.finished_size,
        cursor.state,
        *_pack_stamp(cursor.stamp),
    )


def unpack_cursor(values: Iterable[Any]) -> Cursor:
    """Return the cursor from the values of CURSOR_COLUMNS."""
    generation, offset, crc, anchor, scanned, finished, state, *stamp = values
    return Cursor(
        generation=generation,
        offset=offset,
        crc=crc,
        anchor=anchor,
        scanned=scanned,
        finished_size=finished,
        stamp=unpack_stamp(stamp),
        state=state,
    )


def _pack_stamp(stamp: FileStamp | None) -> tuple[int | None, ...]:
    """Return the values of STAMP_COLUMNS; NULLs without a stamp."""
    if stamp is None:
        return (None,) * len(STAMP_COLUMNS)
    dev, inode, *others = stamp
    return (to_signed(dev), to_signed(inode), *others)


def unpack_stamp(values: Iterable[Any]) -> FileStamp | None:
    """Return the file stamp from the values of STAMP_COLUMNS; None for NULLs."""
    dev, inode, size, mtime_ns, ctime_ns = values
    if dev is None:
        return None
    if dev < 0 or inode < 0:
        dev, inode = dev % _UINT64_RANGE, inode % _UINT64_RANGE
    # Every scan does this for every log; the constructor takes twice the time.
    return tuple.__new__(FileStamp, (dev, inode, size, mtime_ns, ctime_ns))


def to_signed(number: int) -> int:
    """Map an unsigned 64-bit number to SQLite's signed integers."""
    return number - _UINT64_RANGE if number >= _UINT64_RANGE // 2 else number
