"""Append-only logs: whole lines after a byte offset.

Lines end at byte 0x0A and nowhere else. A line without its end stays unread, however
long it takes to be finished. Memory is bounded by the limits, not by the log.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from leslied.model.source import Chunk, Cursor, RawEntry, Rejection
from leslied.tail.files import iter_range, make_stamp, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits


def read(
    source: SourceRef, cursor: Cursor, limits: ReadLimits, *, is_final: bool
) -> Iterator[Chunk]:
    """Yield the whole lines after the cursor; `is_final` takes an unended one too.

    The last chunk's cursor carries the file's stamp: a look that finds the same stamp
    has nothing to read.
    """
    with open_regular(source.path) as fd:
        stamp = make_stamp(os.fstat(fd))
        cursor, spent = verify_cursor(fd, stamp, cursor, limits)
        last = Chunk(entries=(), cursor=cursor, bytes_read=spent)
        for chunk in _read_lines(fd, source, cursor, stamp.size, limits):
            if last.entries or last.rejected:
                yield last
                spent = 0
            last = replace(chunk, bytes_read=chunk.bytes_read + spent)
            spent = last.bytes_read
        if is_final:
            last = _add_partial_line(fd, source, last, stamp.size, limits)
        yield replace(last, cursor=replace(last.cursor, stamp=stamp))


def verify_cursor(
    fd: int, stamp: FileStamp, cursor: Cursor, limits: ReadLimits
) -> tuple[Cursor, int]:
    """The cursor to go on from, and the bytes it took to know.

    A file whose earlier bytes changed starts a new generation at offset 0. A short half
    line is looked at anew: it may have been cut off and written over.
    """
    if cursor.scanned < limits.rescan:
        cursor = replace(cursor, scanned=0)
    if not cursor.offset:
        return (
            replace(cursor, scanned=0) if _needs_checksum(stamp, cursor) else cursor
        ), 0
    spent = int.from_bytes(cursor.anchor[:2], "big")
    before = read_at(fd, spent, cursor.offset - spent)
    is_same = stamp.size >= cursor.offset and _make_anchor(before) == cursor.anchor
    if is_same and _needs_checksum(stamp, cursor):
        spent += cursor.offset
        is_same = _compute_crc(fd, cursor.offset, limits) == cursor.crc
        cursor = replace(cursor, scanned=0)
    if is_same:
        return cursor, spent
    return Cursor(generation=cursor.generation + 1), spent


def _needs_checksum(stamp: FileStamp, cursor: Cursor) -> bool:
    """Touched without growing, shrunk, or another file: the anchor is not enough.

    Nor is it after a crash between two chunks, which leaves a cursor without a stamp.
    """
    old = cursor.stamp
    if old is None:
        return True
    same_file = (old.dev, old.inode) == (stamp.dev, stamp.inode)
    return not same_file or stamp.size <= old.size


def _make_anchor(before: bytes) -> bytes:
    """A mark of the bytes before a cursor: their number and hash, not themselves."""
    digest = hashlib.blake2b(before, digest_size=14).digest()
    return len(before).to_bytes(2, "big") + digest


def _compute_crc(fd: int, end: int, limits: ReadLimits) -> int:
    crc = 0
    for data in iter_range(fd, 0, end, limits.chunk):
        crc = zlib.crc32(data, crc)
    return crc


def _read_lines(
    fd: int, source: SourceRef, cursor: Cursor, size: int, limits: ReadLimits
) -> Iterator[Chunk]:
    while cursor.offset + cursor.scanned < size:
        if cursor.scanned:
            chunk = _read_long_line(fd, source, cursor, size, limits)
        else:
            data = read_at(fd, min(limits.chunk, size - cursor.offset), cursor.offset)
            if not data:
                return
            looked = len(data)
            whole = data.rfind(b"\n") + 1
            if whole:
                data = data[:whole] if whole < len(data) else data
                chunk = _split_lines(fd, source, cursor, data, limits)
                chunk = replace(chunk, bytes_read=looked)
            else:
                cursor = replace(cursor, scanned=len(data))
                chunk = Chunk(entries=(), cursor=cursor, bytes_read=len(data))
        cursor = chunk.cursor
        yield chunk


def _read_long_line(
    fd: int, source: SourceRef, cursor: Cursor, size: int, limits: ReadLimits
) -> Chunk:
    """The line that did not end within what was scanned: whole, too long, or wait."""
    start = cursor.offset
    end, spent = _find_line_end(fd, start + cursor.scanned, size, limits)
    if end < 0:
        waiting = replace(cursor, scanned=size - start)
        return Chunk(entries=(), cursor=waiting, bytes_read=spent)
    length = end + 1 - start
    if length <= limits.line:
        data = read_at(fd, length, start)
        chunk = _split_lines(fd, source, cursor, data, limits)
        return replace(chunk, bytes_read=spent + len(data))
    return _skip_line(fd, cursor, end, limits, spent)


def _find_line_end(
    fd: int, start: int, size: int, limits: ReadLimits
) -> tuple[int, int]:
    """Where the next 0x0A stands, or -1; and the bytes it took to know."""
    at = start
    for data in iter_range(fd, start, size, limits.chunk):
        found = data.find(b"\n")
        if found >= 0:
            return at + found, at + len(data) - start
        at += len(data)
    return -1, at - start


def _skip_line(
    fd: int, cursor: Cursor, end: int, limits: ReadLimits, spent: int
) -> Chunk:
    """Walk past a line too long to parse: hashed, counted, its head kept."""
    digest, crc, start = hashlib.sha256(), cursor.crc, cursor.offset
    for data in iter_range(fd, start, end, limits.chunk):
        digest.update(data)
        crc = zlib.crc32(data, crc)
    crc = zlib.crc32(b"\n", crc)
    length = end - start
    reason = f"oversized: {length} bytes, more than the {limits.line} that are parsed"
    head = read_at(fd, limits.head, start)
    anchor = _make_anchor(read_at(fd, limits.anchor, end + 1 - limits.anchor))
    after = replace(
        cursor, offset=end + 1, crc=crc, anchor=anchor, scanned=0, finished=-1
    )
    rejected = Rejection(start, length, reason, digest.digest()[:16], head)
    return Chunk(
        entries=(),
        cursor=after,
        rejected=(rejected,),
        bytes_read=spent + length + 1,
    )


def _split_lines(
    fd: int, source: SourceRef, cursor: Cursor, data: bytes, limits: ReadLimits
) -> Chunk:
    """The lines of `data`, which ends with a line end, and the cursor after them."""
    entries: list[RawEntry] = []
    at = cursor.offset
    lines = data.split(b"\n")
    lines.pop()
    for line in lines:
        if line and not line.isspace():
            entries.append(RawEntry(source, at, line))
        at += len(line) + 1
    before = data[-limits.anchor :]
    lacking = min(limits.anchor - len(before), cursor.offset)
    if lacking:
        before = read_at(fd, lacking, cursor.offset - lacking) + before
    after = replace(
        cursor,
        offset=at,
        crc=zlib.crc32(data, cursor.crc),
        anchor=_make_anchor(before),
        scanned=0,
        finished=-1,
    )
    return Chunk(entries=tuple(entries), cursor=after)


def _add_partial_line(
    fd: int, source: SourceRef, last: Chunk, size: int, limits: ReadLimits
) -> Chunk:
    """The chunk with the unended last line, taken as final; the cursor stays before."""
    if size == last.cursor.finished:
        return last
    cursor = replace(last.cursor, finished=size)
    start, length = cursor.offset, size - cursor.offset
    if length > limits.line:
        skipped = _skip_line(fd, cursor, size, limits, 0)
        return replace(last, cursor=cursor, rejected=last.rejected + skipped.rejected)
    data = read_at(fd, length, start)
    if not data.strip():
        return replace(last, cursor=cursor)
    entry = RawEntry(source, start, data, is_complete=False)
    spent = last.bytes_read + len(data)
    return replace(
        last, cursor=cursor, entries=(*last.entries, entry), bytes_read=spent
    )
