"""Read logs that an agent compressed with Zstandard.

After every change, all lines are read again. A small file can decompress to any number
of bytes, so their number is limited.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import zstandard

from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.append import split_pieces
from leslied.tail.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits

_MAX_WINDOW_BYTES = 2**27
"""Largest window that the `zstd` program, too, decompresses without an option."""
_TOO_LARGE = "decompresses to far more bytes than a log does"


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield all lines, as a new generation if the log was read before.

    After an unfinished read, whose cursor has no stamp, continue at the cursor if the
    bytes before it are the same. A last line without a line end is skipped.

    Raise SourceError if the file is damaged, has a line that is too long, or
    decompresses to more bytes than the limits allow for its size.
    """
    for _ in _decompress(source, limits):
        pass  # Check the whole file before anything of it is stored.
    pieces = _decompress(source, limits)
    partial_line = b""
    new_cursor = _start_generation(cursor)
    if not cursor.stamp and cursor.offset:
        crc, partial_line = _skip(pieces, cursor.offset)
        if crc == cursor.crc:
            new_cursor = cursor
        else:
            pieces, partial_line = _decompress(source, limits), b""
    yield from _read_lines(source, new_cursor, chain([partial_line], pieces), limits)


def _start_generation(cursor: Cursor) -> Cursor:
    """Return a cursor at the start; the generation is new if anything was read."""
    was_read = cursor.stamp or cursor.offset
    generation = cursor.generation + (1 if was_read else 0)
    return Cursor(generation=generation, state=cursor.state)


def _skip(pieces: Iterator[bytes], length: int) -> tuple[int, bytes]:
    """Skip `length` bytes; return their checksum and the rest of the last piece.

    The checksum is -1 if there are fewer bytes.
    """
    crc = 0
    for data in pieces:
        crc = zlib.crc32(data[:length], crc)
        if len(data) >= length:
            return crc, data[length:]
        length -= len(data)
    return -1, b""


def _read_lines(
    source: SourceRef, cursor: Cursor, pieces: Iterable[bytes], limits: ReadLimits
) -> Iterator[Chunk]:
    """Yield the complete lines of the pieces, the first of which is at the cursor."""
    partial_line = b""
    for data in pieces:
        bytes_read = len(data)
        text = partial_line + data
        lines_end = text.rfind(b"\n") + 1
        partial_line = text[lines_end:]
        if len(partial_line) > limits.line:
            raise SourceError(f"has a line over {limits.line} bytes")
        for lines in split_pieces(text, limits.entries):
            chunk = _split_lines(source, cursor, lines)
            cursor = chunk.cursor
            yield replace(chunk, bytes_read=bytes_read)
            bytes_read = 0
    yield Chunk(entries=(), cursor=replace(cursor, stamp=source.stamp))


def _split_lines(source: SourceRef, cursor: Cursor, data: bytes) -> Chunk:
    """Return the lines of `data`, which must end with a line end, as a chunk."""
    entries: list[RawEntry] = []
    offset = cursor.offset
    for line in data[:-1].split(b"\n"):
        if line.strip():
            entries.append(RawEntry(source, offset, line))
        offset += len(line) + 1
    crc = zlib.crc32(data, cursor.crc)
    new_cursor = replace(cursor, offset=offset, crc=crc)
    return Chunk(entries=tuple(entries), cursor=new_cursor)


def _decompress(source: SourceRef, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the decompressed bytes; raise SourceError as `read` does."""
    remaining = max(limits.unpacked, limits.unpacked_ratio * source.stamp.size)
    try:
        with (
            open_regular(source.path, source.root) as fd,
            open(fd, "rb", closefd=False) as file,
        ):
            decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
            with decompressor.stream_reader(file, read_across_frames=True) as stream:
                while data := stream.read(limits.chunk):
                    remaining -= len(data)
                    if remaining < 0:
                        raise SourceError(_TOO_LARGE)
                    yield data
    except zstandard.ZstdError as error:
        raise SourceError(f"cannot be decompressed: {error}") from error
