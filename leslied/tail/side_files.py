"""Read files next to a log: large tool results (spills) and metadata of the session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits

_MAX_SIDE_FILE_CHARACTERS = 2000


def read_spill(path: Path, root: Path, limits: ReadLimits) -> str:
    """Return a file's text, cut at the limit.

    Return "" if it cannot be read, or if a part of its path below the root is a
    symlink, which could lead to any file.
    """
    try:
        with open_regular(path, root, follow_links=False) as fd:
            return read_at(fd, limits.spill, 0).decode(errors="replace")
    except SourceError:
        return ""


def read_side_file(source: SourceRef, limits: ReadLimits) -> str:
    """Return the beginning of a source's side file; "" if there is none."""
    path = Path(os.path.normpath(source.path.parent / source.side_file))
    return read_spill(path, source.root, limits)[:_MAX_SIDE_FILE_CHARACTERS]
