"""Read documents: files that an agent rewrites as a whole; each is one entry.

A document that was compressed with gzip is read as if it were not: its length, checksum
and entry are those of the decompressed bytes, so that its secrets are masked, and texts
in it are found.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from leslied.decompression import GZIP_MAGIC, decompress_gzip
from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.files import make_stamp, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the document as one entry, or no entry if its bytes are unchanged.

    Raise SourceError as `read_document` does.
    """
    with open_regular(source.path, source.root) as fd:
        stamp = make_stamp(os.fstat(fd))
        data = read_document(fd, limits)
    crc = zlib.crc32(data)
    is_new = (cursor.offset, cursor.crc) != (len(data), crc)
    new_cursor = Cursor(
        generation=cursor.generation + (1 if is_new and cursor.stamp else 0),
        offset=len(data),
        crc=crc,
        stamp=stamp,
        state=cursor.state,
    )
    entries = (RawEntry(source, 0, data),) if is_new and data.strip() else ()
    yield Chunk(entries=entries, cursor=new_cursor, bytes_read=len(data))


def read_document(fd: int, limits: ReadLimits) -> bytes:
    """Return the bytes of an open document, decompressed if needed.

    Raise SourceError if they are too many, or cannot be decompressed.
    """
    size = os.fstat(fd).st_size
    if size > limits.line:
        raise SourceError(f"is {size} bytes, too large for a document")
    data = read_at(fd, size, 0)
    if not data.startswith(GZIP_MAGIC):
        return data
    text = decompress_gzip(data, limits.unpacked)
    if text is None:
        raise SourceError("cannot be decompressed, or is too large for a document")
    return text
