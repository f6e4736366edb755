"""Find sources and read what is new in them, without knowing what a line means.

`discover` finds sources, `check_freshness` returns how new they are, `read` yields new
entries, `salvage` extracts complete entries from a damaged line, and `watch.Watcher`
reports which paths changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leslied.model.source import Shape
from leslied.tail import append, compressed_log, document, json_tree, sqlite_source
from leslied.tail.discover import Discovery, discover, find_source
from leslied.tail.freshness import Freshness, check_freshness
from leslied.tail.limits import ReadLimits
from leslied.tail.liveness import are_registries_readable, check_session_processes
from leslied.tail.salvage import salvage
from leslied.tail.side_files import read_side_file, read_spill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import Chunk, Cursor, SourceRef

__all__ = [
    "Discovery",
    "Freshness",
    "ReadLimits",
    "are_registries_readable",
    "check_freshness",
    "check_session_processes",
    "discover",
    "find_source",
    "is_unchanged",
    "read",
    "read_side_file",
    "read_spill",
    "salvage",
    "stamp_unfinished",
]


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
    """Return the cursor of a chunk after which reading stops before the end.

    For an append-only log it is as if the file had ended there and grew later, so that
    the next read need not verify all bytes before it.
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
    match source.shape:
        case Shape.DOCUMENT:
            return document.read(source, cursor, limits)
        case Shape.COMPRESSED_LOG:
            return compressed_log.read(source, cursor, limits)
        case Shape.SQLITE:
            return sqlite_source.read(source, cursor, limits)
        case Shape.JSON_TREE:
            return json_tree.read(source, cursor, limits)
    return append.read(source, cursor, limits, is_final=is_final)
