"""How new an agent's logs are, without walking through all of them.

Files that are known are asked for their time, and folders are listed only where
something was made since the last look at all of them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied.model.source import Shape
from leslied.tail.discover import discover, match_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from leslied.model.source import Root

MOST_ASKED = 2000
"""So many logs, the latest, are asked for their time; older ones are rarely gone on
with, and the daemon's own scan asks them all."""
_ONE_FILE = (Shape.APPEND_LOG, Shape.DOCUMENT, Shape.COMPRESSED_LOG)
_COARSE_NS = 2_000_000_000
"""A folder's time may lie so far before the moment it was changed at."""


@dataclass(slots=True)
class Survey:
    """What a look from afar tells."""

    newest_ns: int | None = None
    count: int = 0
    missing: list[Path] = field(default_factory=list)
    """Roots that do not exist (yet)."""
    unreadable: list[Path] = field(default_factory=list)

    def add(self, mtime_ns: int) -> None:
        """One more source is known by its time."""
        self.newest_ns = max(self.newest_ns or 0, mtime_ns)


def take_survey(
    agent: str, roots: Sequence[Root], known: Sequence[bytes], looked_ns: int
) -> Survey:
    """The newest of the sources: of those known, latest first, and of any new ones.

    `looked_ns` is when all of them were last looked at; 0 for never.
    """
    shapes = {pattern.shape for root in roots for pattern in root.patterns}
    if not looked_ns or not shapes.issubset(_ONE_FILE):
        return _walk_all(agent, roots)
    told = Survey(count=len(known))
    for path in known[:MOST_ASKED]:
        told.add(_time_of(path))
    seen = set(known)
    folders = _folders_of(known)
    for root in roots:
        if not root.path.is_dir():
            told.missing.append(root.path)
            continue
        for folder in _folders_below(root, folders):
            if _time_of(folder) > looked_ns - _COARSE_NS:
                for mtime_ns in _find_new(root, folder, seen, looked_ns):
                    told.add(mtime_ns)
                    told.count += 1
    return told


def _folders_below(root: Root, known: set[bytes]) -> set[bytes]:
    """The root, what is known below it, and projects that never had a log."""
    top = os.fsencode(root.path)
    found = {each for each in known if each.startswith(top + b"/")}
    with suppress(OSError), os.scandir(top) as entries:
        found |= {each.path for each in entries if each.is_dir()}
    return found | {top}


def _walk_all(agent: str, roots: Iterable[Root]) -> Survey:
    found = discover(agent, roots)
    newest = max((source.stamp.mtime_ns for source in found.sources), default=None)
    return Survey(newest, found.count, found.missing, list(found.unreadable))


def _folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """The folders that hold the files, and those that hold the folders."""
    folders: set[bytes] = set()
    for path in paths:
        folder = path[: path.rfind(b"/")]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder[: folder.rfind(b"/")]
    return folders


def _find_new(
    root: Root, folder: bytes, seen: set[bytes], looked_ns: int
) -> Iterator[int]:
    """The times of sources in the folder that nobody knew."""
    top = os.fsencode(root.path) + b"/"
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.path in seen:
            continue
        name = os.fsdecode(entry.path.removeprefix(top))
        if entry.is_dir(follow_symlinks=False):
            if _time_of(entry.path) > looked_ns - _COARSE_NS:
                yield from _find_new(root, entry.path, seen, looked_ns)
        elif entry.is_file(follow_symlinks=False) and match_source(root, name):
            seen.add(entry.path)
            yield _time_of(entry.path)


def _time_of(path: bytes) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - thousands of times
    except OSError:
        return 0
