"""Convert cursors and file stamps to column values and back."""

from __future__ import annotations

from typing import Any

from leslied.model.source import Cursor, FileStamp

CURSOR_COLUMNS = (
    "generation, offset, crc, anchor, scanned, finished, "
    "dev, inode, size, mtime_ns, ctime_ns, state"
)
_UINT64_RANGE = 2**64


def pack_cursor(cursor: Cursor) -> tuple[Any, ...]:
    """Return the values of CURSOR_COLUMNS for a cursor."""
    stamp = cursor.stamp
    stamp_values = (
        (
            to_signed(stamp.dev),
            to_signed(stamp.inode),
            stamp.size,
            stamp.mtime_ns,
            stamp.ctime_ns,
        )
        if stamp
        else (None,) * 5
    )
    return (
        cursor.generation,
        cursor.offset,
        cursor.crc,
        cursor.anchor,
        cursor.scanned,
        cursor.finished_size,
        *stamp_values,
        cursor.state,
    )


def unpack_cursor(row: tuple[Any, ...]) -> Cursor:
    """Return the cursor from the values of CURSOR_COLUMNS."""
    stamp = unpack_stamp(row[6:11]) if row[6] is not None else None
    return Cursor(
        generation=row[0],
        offset=row[1],
        crc=row[2],
        anchor=row[3],
        scanned=row[4],
        finished_size=row[5],
        stamp=stamp,
        state=row[11],
    )


def unpack_stamp(row: tuple[Any, ...]) -> FileStamp:
    """Return the file stamp from its five columns; for NULLs, one that no file has."""
    if row[0] is None:
        return FileStamp(0, 0, -1, 0, 0)
    return FileStamp(row[0] % _UINT64_RANGE, row[1] % _UINT64_RANGE, *row[2:])


def to_signed(number: int) -> int:
    """Map an unsigned 64-bit number to SQLite's signed integers."""
    return number - _UINT64_RANGE if number >= _UINT64_RANGE // 2 else number
