"""Read append-only logs: complete lines after a byte offset.

Lines end at byte 0x0A and nowhere else. A line without a line end is not read until
the agent completes it. Memory is bounded by the limits, not by the log.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry, Rejection
from leslied.tail.files import iter_range, make_stamp, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits


def read(
    source: SourceRef, cursor: Cursor, limits: ReadLimits, *, is_final: bool
) -> Iterator[Chunk]:
    """Yield the lines after the cursor; an incomplete last one only if `is_final`.

    The cursor of the last chunk has the file's stamp: while the file has the same
    stamp, there is nothing to read.
    """
    with open_regular(source.path, source.root) as fd:
        stamp = make_stamp(os.fstat(fd))
        cursor, bytes_read = verify_cursor(fd, stamp, cursor, limits)
        last_chunk = Chunk(entries=(), cursor=cursor, bytes_read=bytes_read)
        for chunk in _read_lines(fd, source, cursor, stamp.size, limits):
            # A chunk without content is not yielded; the next one counts its bytes. But
            # after many bytes, yield, so that the caller can read other logs meanwhile.
            has_content = last_chunk.entries or last_chunk.rejected
            if has_content or last_chunk.bytes_read >= limits.line:
                yield last_chunk
                bytes_read = 0
            last_chunk = replace(chunk, bytes_read=chunk.bytes_read + bytes_read)
            bytes_read = last_chunk.bytes_read
        if last_chunk.cursor.scanned >= limits.skip:
            yield replace(last_chunk, cursor=replace(last_chunk.cursor, stamp=stamp))
            raise SourceError(f"has a line of more than {limits.skip:,} bytes")
        if is_final:
            last_chunk = _add_partial_line(fd, source, last_chunk, stamp.size, limits)
        yield replace(last_chunk, cursor=replace(last_chunk.cursor, stamp=stamp))


def verify_cursor(
    fd: int, stamp: FileStamp, cursor: Cursor, limits: ReadLimits
) -> tuple[Cursor, int]:
    """Return the cursor to continue from, and the number of bytes read to verify it.

    If earlier bytes of the file changed, the cursor starts a new generation at offset
    0. A short incomplete line is scanned again, because it may have been truncated and
    overwritten.
    """
    if cursor.scanned < limits.rescan:
        cursor = replace(cursor, scanned=0)
    if not cursor.offset:
        if _needs_checksum(stamp, cursor):
            cursor = replace(cursor, scanned=0)
        return cursor, 0
    # An anchor begins with the number of bytes that were hashed.
    bytes_read = int.from_bytes(cursor.anchor[:2], "big")
    anchor = _make_anchor(read_at(fd, bytes_read, cursor.offset - bytes_read))
    is_same = stamp.size >= cursor.offset and anchor == cursor.anchor
    if is_same and _needs_checksum(stamp, cursor):
        bytes_read += cursor.offset
        is_same = _compute_crc(fd, cursor.offset, limits) == cursor.crc
        cursor = replace(cursor, scanned=0)
    if is_same:
        return cursor, bytes_read
    return Cursor(generation=cursor.generation + 1), bytes_read


def has_same_bytes(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> bool:
    """Return whether all bytes before the cursor are those that were read."""
    with open_regular(source.path, source.root) as fd:
        size = os.fstat(fd).st_size
        if size < cursor.offset:
            return False
        return _compute_crc(fd, cursor.offset, limits) == cursor.crc


def _needs_checksum(stamp: FileStamp, cursor: Cursor) -> bool:
    """Return whether all bytes before the cursor must be verified, not only the anchor.

    They must if the file was replaced, shrank, or was touched without growing, and
    after a crash between two chunks, which leaves a cursor without a stamp.
    """
    old_stamp = cursor.stamp
    if old_stamp is None:
        return True
    is_same_file = (old_stamp.dev, old_stamp.inode) == (stamp.dev, stamp.inode)
    return not is_same_file or stamp.size <= old_stamp.size


def _make_anchor(data: bytes) -> bytes:
    """Return the number and the hash of the bytes just before a cursor."""
    digest = hashlib.blake2b(data, digest_size=14).digest()
    return len(data).to_bytes(2, "big") + digest


def _compute_crc(fd: int, end: int, limits: ReadLimits) -> int:
    """Return the checksum of the file's first `end` bytes."""
    crc = 0
    for data in iter_range(fd, 0, end, limits.chunk):
        crc = zlib.crc32(data, crc)
    return crc


def _read_lines(
    fd: int, source: SourceRef, cursor: Cursor, size: int, limits: ReadLimits
) -> Iterator[Chunk]:
    """Yield the complete lines from the cursor up to `size`, the end of the file.

    A chunk in the middle of a long line has no entries, but a cursor that moved.
    """
    while cursor.offset + cursor.scanned < size and cursor.scanned < limits.skip:
        if cursor.scanned:
            chunk = _read_long_line(fd, source, cursor, size, limits)
            cursor = chunk.cursor
            yield chunk
            continue
        data = read_at(fd, min(limits.chunk, size - cursor.offset), cursor.offset)
        if not data:
            return
        for chunk in _split_chunks(fd, source, cursor, data, limits):
            cursor = chunk.cursor
            yield chunk


def _split_chunks(
    fd: int, source: SourceRef, cursor: Cursor, data: bytes, limits: ReadLimits
) -> Iterator[Chunk]:
    """Yield the complete lines of `data`, which was read at the cursor.

    If no line ends in `data`, yield one chunk without entries. Only the first chunk
    counts the bytes that were read.
    """
    bytes_read = len(data)
    if b"\n" not in data:
        cursor = replace(cursor, scanned=bytes_read)
        yield Chunk(entries=(), cursor=cursor, bytes_read=bytes_read)
        return
    for lines in split_pieces(data, limits.entries):
        chunk = _split_lines(fd, source, cursor, lines, limits)
        cursor = chunk.cursor
        yield replace(chunk, bytes_read=bytes_read)
        bytes_read = 0


def split_pieces(data: bytes, max_lines: int) -> Iterator[bytes]:
    """Yield the complete lines of `data` in pieces of at most `max_lines`."""
    start, end = 0, data.rfind(b"\n") + 1
    while start < end:
        stop = start
        for _ in range(max_lines):
            stop = data.index(b"\n", stop) + 1
            if stop == end:
                break
        yield data[start:stop]
        start = stop


def _read_long_line(
    fd: int, source: SourceRef, cursor: Cursor, size: int, limits: ReadLimits
) -> Chunk:
    """Return a chunk for a line that did not end within the bytes scanned so far.

    The chunk has the line, a rejection if it is too long, or neither if the line is
    still incomplete.
    """
    start = cursor.offset
    data = read_at(fd, limits.chunk, start + cursor.scanned)[
        : size - start - cursor.scanned
    ]
    bytes_read, index = len(data), data.find(b"\n")
    if index < 0:
        scanned = cursor.scanned + bytes_read if data else size - start
        new_cursor = replace(cursor, scanned=scanned)
        return Chunk(entries=(), cursor=new_cursor, bytes_read=bytes_read)
    end = start + cursor.scanned + index
    length = end + 1 - start
    if length <= limits.line:
        data = read_at(fd, length, start)
        chunk = _split_lines(fd, source, cursor, data, limits)
        return replace(chunk, bytes_read=bytes_read + len(data))
    return _skip_line(fd, cursor, end, limits, bytes_read)


def _skip_line(
    fd: int, cursor: Cursor, end: int, limits: ReadLimits, bytes_read: int
) -> Chunk:
    """Return a chunk that rejects a line too long to parse, with its hash and head.

    `bytes_read` are the bytes that the caller read to find the end of the line.
    """
    digest, crc, start = hashlib.sha256(), cursor.crc, cursor.offset
    for data in iter_range(fd, start, end, limits.chunk):
        digest.update(data)
        crc = zlib.crc32(data, crc)
    crc = zlib.crc32(b"\n", crc)
    length = end - start
    reason = f"oversized: {length} bytes, limit {limits.line}"
    head = read_at(fd, limits.head, start)
    anchor = _make_anchor(read_at(fd, limits.anchor, end + 1 - limits.anchor))
    new_cursor = replace(
        cursor, offset=end + 1, crc=crc, anchor=anchor, scanned=0, finished_size=-1
    )
    rejected = Rejection(start, length, reason, digest.digest()[:16], head)
    return Chunk(
        entries=(),
        cursor=new_cursor,
        rejected=(rejected,),
        bytes_read=bytes_read + length + 1,
    )


def _split_lines(
    fd: int, source: SourceRef, cursor: Cursor, data: bytes, limits: ReadLimits
) -> Chunk:
    """Return the lines of `data`, which must end with a line end, as a chunk."""
    entries: list[RawEntry] = []
    offset = cursor.offset
    lines = data.split(b"\n")
    lines.pop()
    for line in lines:
        if line and not line.isspace():
            entries.append(RawEntry(source, offset, line))
        offset += len(line) + 1
    last_bytes = data[-limits.anchor :]
    earlier_count = min(limits.anchor - len(last_bytes), cursor.offset)
    if earlier_count:
        earlier_bytes = read_at(fd, earlier_count, cursor.offset - earlier_count)
        last_bytes = earlier_bytes + last_bytes
    new_cursor = replace(
        cursor,
        offset=offset,
        crc=zlib.crc32(data, cursor.crc),
        anchor=_make_anchor(last_bytes),
        scanned=0,
        finished_size=-1,
    )
    return Chunk(entries=tuple(entries), cursor=new_cursor)


def _add_partial_line(
    fd: int, source: SourceRef, chunk: Chunk, size: int, limits: ReadLimits
) -> Chunk:
    """Add the incomplete last line as final; the cursor's offset stays before it."""
    if size == chunk.cursor.finished_size:
        return chunk
    cursor = replace(chunk.cursor, finished_size=size)
    start, length = cursor.offset, size - cursor.offset
    if length > limits.line:
        skipped = _skip_line(fd, cursor, size, limits, 0)
        return replace(chunk, cursor=cursor, rejected=chunk.rejected + skipped.rejected)
    data = read_at(fd, length, start)
    if not data.strip():
        return replace(chunk, cursor=cursor)
    entry = RawEntry(source, start, data, is_complete=False)
    return replace(
        chunk,
        cursor=cursor,
        entries=(*chunk.entries, entry),
        bytes_read=chunk.bytes_read + len(data),
    )
