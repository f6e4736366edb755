"""Read logs that an agent compressed with Zstandard.

After every change, all lines are read again.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import zstandard

from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits

_MAX_WINDOW_BYTES = 2**27
"""Largest window that the `zstd` program, too, decompresses without an option."""


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield all lines, as a new generation if the log was read before.

    A last line without a line end is skipped.

    Raise SourceError if the file is damaged or has a line that is too long.
    """
    generation = cursor.generation + (1 if cursor.stamp else 0)
    new_cursor = Cursor(generation=generation, state=cursor.state)
    partial_line = b""
    for data in _decompress(source, limits):
        *lines, partial_line = (partial_line + data).split(b"\n")
        if len(partial_line) > limits.line:
            raise SourceError(f"has a line over {limits.line} bytes")
        entries = []
        for line in lines:
            if line.strip():
                entries.append(RawEntry(source, new_cursor.offset, line))
            crc = zlib.crc32(line + b"\n", new_cursor.crc)
            offset = new_cursor.offset + len(line) + 1
            new_cursor = replace(new_cursor, offset=offset, crc=crc)
        yield Chunk(entries=tuple(entries), cursor=new_cursor, bytes_read=len(data))
    yield Chunk(entries=(), cursor=replace(new_cursor, stamp=source.stamp))


def _decompress(source: SourceRef, limits: ReadLimits) -> Iterator[bytes]:
    try:
        with (
            open_regular(source.path) as fd,
            open(fd, "rb", closefd=False) as file,
        ):
            decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
            with decompressor.stream_reader(file, read_across_frames=True) as stream:
                while data := stream.read(limits.chunk):
                    yield data
    except zstandard.ZstdError as error:
        raise SourceError(f"cannot be decompressed: {error}") from error
