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


def read_spill(path: Path, root: Path, limits: ReadLimits) -> str:
    """Return a file's text, cut at the limit.

    Return "" if it cannot be read, or if a part of its path below the root is a
    symlink, which could lead to any file.
    """
    return _read_beginning(path, root, limits.spill)


def read_side_file(source: SourceRef) -> str:
    """Return the beginning of a source's side file; "" if there is none.

    If the name of the side file ends with `#TEXT`, what is returned begins with the
    first place that has this text.
    """
    folder = source.path.parent
    pattern = source.side_file.replace("{}", source.path.name.partition(".")[0])
    name, _, searched_text = pattern.partition("#")
    above, star, rest = name.partition("*/")
    path = Path(os.path.normpath(folder / above))
    if star:
        group, _, file_name = rest.partition("/{folder}/")
        path = _find_linked(path, group, folder.name) / file_name
    limit = _MAX_SEARCHED_BYTES if searched_text else _MAX_SIDE_FILE_BYTES
    text = _read_beginning(path, source.root, limit)
    start = text.find(searched_text)
    return text[start:][:_MAX_SIDE_FILE_CHARACTERS] if start >= 0 else ""


def _find_linked(base: Path, group: str, name: str) -> Path:
    """Return the directory `name` in the directory `group` of any directory of `base`.

    Return a path that does not exist if there is none.
    """
    links = _index_links(base, group, tuple(_list_names(base)))
    return base / links.get(name, name) / group / name


@lru_cache(maxsize=8)
def _index_links(base: Path, group: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return which directory of `base` has each directory in its `group`.

    To search all directories for each source would take minutes if there are thousands.
    A directory is linked before it is created, so the names of all directories tell
    whether the index is out of date.
    """
    return {link: name for name in names for link in _list_names(base / name / group)}


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
