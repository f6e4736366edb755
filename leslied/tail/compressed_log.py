"""Read logs that an agent compressed with Zstandard: all lines, after every change."""

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
    """Yield every line as a new generation; skip a last line without a line end.

    Raise SourceError if the file is damaged or has a line that is too long.
    """
    generation = cursor.generation + (1 if cursor.stamp else 0)
    after = Cursor(generation=generation, state=cursor.state)
    rest = b""
    for data in _decompress(source, limits):
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > limits.line:
            raise SourceError(f"has a line over {limits.line} bytes")
        entries = []
        for line in lines:
            if line.strip():
                entries.append(RawEntry(source, after.offset, line))
            crc = zlib.crc32(line + b"\n", after.crc)
            after = replace(after, offset=after.offset + len(line) + 1, crc=crc)
        yield Chunk(entries=tuple(entries), cursor=after, bytes_read=len(data))
    yield Chunk(entries=(), cursor=replace(after, stamp=source.stamp))


def _decompress(source: SourceRef, limits: ReadLimits) -> Iterator[bytes]:
    try:
        with (
            open_regular(source.path) as fd,
            open(fd, "rb", closefd=False) as file,
        ):
            decompressor = zstandard.ZstdDecompressor(max_window_size=2**27)
            with decompressor.stream_reader(file, read_across_frames=True) as stream:
                while data := stream.read(limits.chunk):
                    yield data
    except zstandard.ZstdError as error:
        raise SourceError(f"cannot be decompressed: {error}") from error
