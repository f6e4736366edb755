"""Reading a log that was put away compressed: all of it, whenever it is another."""

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


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield every line; nothing is said of a last line that has no end."""
    generation = cursor.generation + (1 if cursor.stamp else 0)
    now = Cursor(generation=generation, state=cursor.state)
    held = b""
    for data in _decompress(source, limits):
        *lines, held = (held + data).split(b"\n")
        if len(held) > limits.line:
            raise SourceError(f"has a line over {limits.line} bytes")
        entries = []
        for line in lines:
            if line.strip():
                entries.append(RawEntry(source, now.offset, line))
            crc = zlib.crc32(line + b"\n", now.crc)
            now = replace(now, offset=now.offset + len(line) + 1, crc=crc)
        yield Chunk(entries=tuple(entries), cursor=now, bytes_read=len(data))
    yield Chunk(entries=(), cursor=replace(now, stamp=source.stamp))


def _decompress(source: SourceRef, limits: ReadLimits) -> Iterator[bytes]:
    try:
        with (
            open_regular(source.path) as fd,
            open(fd, "rb", closefd=False) as file,
        ):
            unpacker = zstandard.ZstdDecompressor(max_window_size=2**27)
            with unpacker.stream_reader(file, read_across_frames=True) as stream:
                while data := stream.read(limits.chunk):
                    yield data
    except zstandard.ZstdError as error:
        raise SourceError(f"cannot be unpacked: {error}") from error
