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

MAX_CHECKED_LOGS = 2000
"""So many logs, the latest, are asked for their time; older ones are rarely gone on
with, and the daemon's own scan asks them all."""
_SINGLE_FILE_SHAPES = (Shape.APPEND_LOG, Shape.DOCUMENT, Shape.COMPRESSED_LOG)
_MTIME_TOLERANCE_NS = 2_000_000_000
"""A folder's time may lie so far before the moment it was changed at."""


@dataclass(slots=True)
class Freshness:
    """What a look from afar tells."""

    newest_ns: int | None = None
    count: int = 0
    missing_roots: list[Path] = field(default_factory=list)
    """Roots that do not exist (yet)."""
    unreadable: list[Path] = field(default_factory=list)

    def add_source(self, mtime_ns: int) -> None:
        """One more source is known by its time."""
        self.newest_ns = max(self.newest_ns or 0, mtime_ns)


def check_freshness(
    agent: str, roots: Sequence[Root], known_paths: Sequence[bytes], scanned_ns: int
) -> Freshness:
    """The newest of the sources: of those known, latest first, and of any new ones.

    `looked_ns` is when all of them were last looked at; 0 for never.
    """
    shapes = {pattern.shape for root in roots for pattern in root.patterns}
    if not scanned_ns or not shapes.issubset(_SINGLE_FILE_SHAPES):
        return _scan_all(agent, roots)
    freshness = Freshness(count=len(known_paths))
    for path in known_paths[:MAX_CHECKED_LOGS]:
        freshness.add_source(_read_mtime_ns(path))
    seen = set(known_paths)
    folders = _list_parents(known_paths)
    for root in roots:
        if not root.path.is_dir():
            freshness.missing_roots.append(root.path)
            continue
        for folder in _list_folders_below(root, folders):
            if _read_mtime_ns(folder) > scanned_ns - _MTIME_TOLERANCE_NS:
                for mtime_ns in _find_new_mtimes(root, folder, seen, scanned_ns):
                    freshness.add_source(mtime_ns)
                    freshness.count += 1
    return freshness


def _list_folders_below(root: Root, known: set[bytes]) -> set[bytes]:
    """The root, what is known below it, and projects that never had a log."""
    top = os.fsencode(root.path)
    found = {each for each in known if each.startswith(top + b"/")}
    with suppress(OSError), os.scandir(top) as entries:
        found |= {each.path for each in entries if each.is_dir()}
    return found | {top}


def _scan_all(agent: str, roots: Iterable[Root]) -> Freshness:
    found = discover(agent, roots)
    newest = max((source.stamp.mtime_ns for source in found.sources), default=None)
    return Freshness(newest, found.count, found.missing_roots, list(found.unreadable))


def _list_parents(paths: Iterable[bytes]) -> set[bytes]:
    """The folders that hold the files, and those that hold the folders."""
    folders: set[bytes] = set()
    for path in paths:
        folder = path[: path.rfind(b"/")]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder[: folder.rfind(b"/")]
    return folders


def _find_new_mtimes(
    root: Root, folder: bytes, seen: set[bytes], scanned_ns: int
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
            if _read_mtime_ns(entry.path) > scanned_ns - _MTIME_TOLERANCE_NS:
                yield from _find_new_mtimes(root, entry.path, seen, scanned_ns)
        elif entry.is_file(follow_symlinks=False) and match_source(root, name):
            seen.add(entry.path)
            yield _read_mtime_ns(entry.path)


def _read_mtime_ns(path: bytes) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - thousands of times
    except OSError:
        return 0
