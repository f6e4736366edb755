"""The sources that ingest has not read to their end, and in which order it reads them.

Sources with few new bytes, such as logs of sessions that are going on, do not wait for
the others: they are read at once, in common batches.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from leslied.model.source import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from leslied.model.source import Cursor, SourceRef

    SourcePosition = tuple[SourceRef, Cursor]

T = TypeVar("T")
_MIN_RISKY_BYTES = 1024 * 1024
"""Bytes that may take too much memory when they are decoded. If leslied is killed while
it reads fewer, that is a coincidence."""
_MAX_GROUP_SOURCES = 100
"""Sources with little to read that are read together."""


class Backlog(Struct):
    """The paths of the sources that the next run continues to read, in order.

    A source that was read goes to the end, so that none keeps the others waiting.
    """

    paths: dict[Path, None] = field(default_factory=dict)

    def add(self, paths: Iterable[Path]) -> None:
        """Add paths at the end, unless they are in the backlog."""
        self.paths.update(dict.fromkeys(paths))

    def take(self, positions: Iterable[SourcePosition]) -> None:
        """Remove these sources, because they are read now."""
        for source, _ in positions:
            self.paths.pop(source.path, None)

    def iter_groups(
        self,
        paths: Iterable[Path],
        load: Callable[[Path], SourcePosition | None],
        is_small: Callable[[SourceRef, Cursor], bool],
    ) -> Iterator[list[SourcePosition]]:
        """Yield groups of sources to read together: small ones, or a single other one.

        `is_small` says which sources have few new bytes. Remove paths for which `load`
        returns None, because they cannot be read now.
        """
        small: list[SourcePosition] = []
        for path in paths:
            position = load(path)
            if position is None:
                del self.paths[path]
            elif is_small(*position):
                small.append(position)
                if len(small) == _MAX_GROUP_SOURCES:
                    yield small
                    small = []
            else:
                yield [position]
        if small:
            yield small


def count_new_bytes(source: SourceRef, cursor: Cursor) -> int:
    """Return about how many bytes are new; 0 if only reading the source shows it."""
    match source.shape:
        case Shape.APPEND_LOG:
            return source.stamp.size - cursor.offset
        case Shape.DOCUMENT | Shape.COMPRESSED_LOG:
            return source.stamp.size
    return 0


def may_exhaust_memory(source: SourceRef, cursor: Cursor) -> bool:
    """Return whether a source may need so much memory that leslied is killed."""
    size = count_new_bytes(source, cursor) or source.stamp.size
    return size >= _MIN_RISKY_BYTES


def take_newest(
    items: list[T], get_time: Callable[[T], float], max_items: int | None
) -> tuple[list[T], list[T]]:
    """Return the items that changed last, at most `max_items`, and the others.

    Both lists keep the order of `items`.
    """
    if max_items is None or len(items) <= max_items:
        return items, []
    order = sorted(range(len(items)), key=lambda n: get_time(items[n]))
    chosen = set(order[-max_items:])
    numbers = range(len(items))
    return (
        [items[number] for number in numbers if number in chosen],
        [items[number] for number in numbers if number not in chosen],
    )


def get_mtime(path: Path) -> float:
    """Return when a file changed; a missing one counts as old."""
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - called for every file
    except (OSError, ValueError):
        return 0


def is_side_file(source: SourceRef) -> bool:
    """Return whether a source may belong to a log, so that it is read after logs."""
    return source.shape is Shape.DOCUMENT
