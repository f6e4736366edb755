"""Read files next to a log: large tool results (spills) and metadata of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits

_MAX_SIDE_FILE_CHARACTERS = 2000


def read_spill(path: Path, limits: ReadLimits) -> str:
    """Return a file's text, cut at the limit.

    Return "" if it cannot be read, or if it or one of the two folders above it is a
    symlink, which could lead to any file.
    """
    try:
        if any(part.is_symlink() for part in (path, *path.parents[:2])):
            return ""
        with open_regular(path) as fd:
            return read_at(fd, limits.spill, 0).decode(errors="replace")
    except (OSError, SourceError, ValueError):
        return ""


def read_side_file(source: SourceRef, limits: ReadLimits) -> str:
    """Return the beginning of a source's side file; "" if there is none."""
    return read_spill(source.path.parent / source.side_file, limits)[
        :_MAX_SIDE_FILE_CHARACTERS
    ]
