"""Read files next to a log: large tool results (spills) and metadata of the session."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from leslied.model.source import SourceRef
    from leslied.tail.limits import ReadLimits

_MAX_SIDE_FILE_CHARACTERS = 2000
_MAX_SIDE_FILE_BYTES = 4 * _MAX_SIDE_FILE_CHARACTERS
_MAX_SEARCHED_BYTES = 4 * 1024 * 1024
"""Bytes of a side file that are searched for a text."""
_NO_FOLDER = "(none)"
"""Stands for a folder that does not exist."""


def read_spill(path: Path, root: Path, limits: ReadLimits) -> str:
    """Return a file's text, cut at the limit.

    Return "" if it cannot be read, or if a part of its path below the root is a
    symlink, which could lead to any file.
    """
    return _read_beginning(path, root, limits.spill)


def read_side_file(source: SourceRef) -> str:
    """Return the beginning of a source's side file; "" if there is none.

    If `source.side_file` ends with `#TEXT`, the returned part begins at the first
    occurrence of TEXT instead; without one, return "".
    """
    folder = source.path.parent
    pattern = source.side_file.replace("{}", source.path.name.partition(".")[0])
    name, _, searched_text = pattern.partition("#")
    base, star, below_star = name.partition("*/")
    path = Path(os.path.normpath(folder / base))
    if star:
        # The name is `BASE/*/GROUP/{folder}/FILE_NAME`.
        group, _, file_name = below_star.partition("/{folder}/")
        path = _find_group_folder(path, group, folder.name) / file_name
    limit = _MAX_SEARCHED_BYTES if searched_text else _MAX_SIDE_FILE_BYTES
    text = _read_beginning(path, source.root, limit)
    start = text.find(searched_text)
    return text[start:][:_MAX_SIDE_FILE_CHARACTERS] if start >= 0 else ""


def _find_group_folder(base: Path, group: str, name: str) -> Path:
    """Return the directory `base/*/group/name`, or a path that does not exist."""
    parents = _index_parents(base, group, tuple(_list_names(base)))
    return base / parents.get(name, _NO_FOLDER) / group / name


@lru_cache(maxsize=8)
def _index_parents(base: Path, group: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the name of the directory `*` of each `base/*/group/child`, by child.

    Searching all directories for each source would take minutes if there are thousands.
    An agent creates `base/*/group/child` before `base/child`, whose source needs it. So
    the cached index is current as long as `base` has the same `names`.
    """
    return {child: name for name in names for child in _list_names(base / name / group)}


def _list_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - thousands of names
    except OSError:
        return []


def _read_beginning(path: Path, root: Path, limit: int) -> str:
    try:
        with open_regular(path, root, follow_links=False) as fd:
            return read_at(fd, limit, 0).decode(errors="replace")
    except SourceError:
        return ""
