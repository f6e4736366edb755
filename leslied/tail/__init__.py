"""Finding sources and reading what is new in them.

The door: `discover` finds, `take_survey` looks from afar, `read` reads, `salvage` cuts
whole entries out of a damaged line, `Watcher` says which paths are worth a look now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.source import Shape
from leslied.tail import append, document, packed, rows, tree
from leslied.tail.discover import Discovery, discover, identify
from leslied.tail.limits import ReadLimits
from leslied.tail.liveness import find_processes
from leslied.tail.salvage import salvage
from leslied.tail.spill import read_beside, read_spill
from leslied.tail.survey import Survey, take_survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import Chunk, Cursor, SourceRef

__all__ = [
    "Discovery",
    "ReadLimits",
    "Survey",
    "discover",
    "find_processes",
    "identify",
    "is_unchanged",
    "read",
    "read_beside",
    "read_spill",
    "salvage",
    "take_survey",
]


def is_unchanged(source: SourceRef, cursor: Cursor, *, is_final: bool = False) -> bool:
    """Nothing was written since the last look, so no byte needs reading."""
    if source.stamp != cursor.stamp:
        return False
    if not is_final or source.shape is not Shape.APPEND_LOG:
        return True
    return source.stamp.size in (cursor.offset, cursor.finished)


def read(
    source: SourceRef, cursor: Cursor, limits: ReadLimits, *, is_final: bool = False
) -> Iterator[Chunk]:
    """Yield what is new after the cursor, in order, in bounded pieces."""
    match source.shape:
        case Shape.DOCUMENT:
            return document.read(source, cursor, limits)
        case Shape.COMPRESSED_LOG:
            return packed.read(source, cursor, limits)
        case Shape.SQLITE:
            return rows.read(source, cursor, limits)
        case Shape.JSON_TREE:
            return tree.read(source, cursor, limits)
    return append.read(source, cursor, limits, is_final=is_final)
