"""Find sources and read what is new in them, without knowing what a line means.

`discover` finds sources, `check_freshness` returns how new they are, `read` yields new
entries, `salvage.salvage` extracts complete entries from a damaged line, and
`watch.Watcher` reports which paths changed.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from leslied.lazy_imports import make_getattr
from leslied.model.source import Shape
from leslied.tail.discover import Discovery, discover, find_source, find_sources
from leslied.tail.limits import ReadLimits
from leslied.tail.liveness import (
    are_registries_readable,
    check_session_processes,
    iter_processes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import Chunk, Cursor, SourceRef
    from leslied.tail.freshness import Freshness, check_freshness
    from leslied.tail.side_files import read_side_file, read_spill

__all__ = [
    "Discovery",
    "Freshness",
    "ReadLimits",
    "are_registries_readable",
    "check_freshness",
    "check_session_processes",
    "discover",
    "find_source",
    "find_sources",
    "is_unchanged",
    "iter_processes",
    "read",
    "read_side_file",
    "read_spill",
    "stamp_unfinished",
]

__getattr__ = make_getattr(
    __name__,
    {
        "Freshness": "freshness",
        "check_freshness": "freshness",
        "read_side_file": "side_files",
        "read_spill": "side_files",
    },
)


_READERS = {
    Shape.DOCUMENT: "document",
    Shape.COMPRESSED_LOG: "compressed_log",
    Shape.SQLITE: "sqlite_source",
    Shape.JSON_TREE: "json_tree",
    Shape.EVENT_TREE: "event_tree",
    Shape.CHECKPOINT_STORE: "checkpoint_store",
}
"""Module that reads the sources of each shape; most users need few of them."""


def is_unchanged(source: SourceRef, cursor: Cursor, *, is_final: bool = False) -> bool:
    """Return whether there is nothing new to read after the cursor.

    With `is_final`, an incomplete last line that was not read yet is new.
    """
    if source.stamp != cursor.stamp:
        return False
    if not is_final or source.shape is not Shape.APPEND_LOG:
        return True
    return source.stamp.size in (cursor.offset, cursor.finished_size)


def stamp_unfinished(source: SourceRef, cursor: Cursor) -> Cursor:
    """Return the cursor to save if reading stops before the end of the source.

    For an append-only log, the size in its stamp is the position up to which bytes were
    read. The next read treats the log as one that has grown since then, and need not
    verify all bytes before the cursor.
    """
    if source.shape is not Shape.APPEND_LOG:
        return cursor
    size = cursor.offset + cursor.scanned
    return replace(cursor, stamp=source.stamp._replace(size=size))


def read(
    source: SourceRef, cursor: Cursor, limits: ReadLimits, *, is_final: bool = False
) -> Iterator[Chunk]:
    """Yield the new entries after the cursor in order, in chunks of bounded size.

    With `is_final`, an incomplete last line of an append-only log is read, too.
    """
    if source.shape is Shape.APPEND_LOG:
        from leslied.tail import append  # noqa: PLC0415 - only for changed logs

        return append.read(source, cursor, limits, is_final=is_final)
    reader = import_module(f"{__name__}.{_READERS[source.shape]}")
    chunks: Iterator[Chunk] = reader.read(source, cursor, limits)
    return chunks
