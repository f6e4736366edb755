"""Read documents: files that an agent rewrites as a whole; each is one entry."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.files import make_stamp, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the document as one entry, or no entry if its bytes are unchanged.

    Raise SourceError if the document is too large.
    """
    with open_regular(source.path, source.root) as fd:
        stamp = make_stamp(os.fstat(fd))
        if stamp.size > limits.line:
            raise SourceError(f"is {stamp.size} bytes, too large for a document")
        data = read_at(fd, stamp.size, 0)
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
