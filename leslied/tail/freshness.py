"""Find out how new an agent's logs are, and whether the newest changes were read.

No log is opened, and not all folders are walked: known files cost one `stat` each, and
a folder is listed only if something was created in it since the last scan.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct, field

from leslied.model.source import Shape
from leslied.tail.discover import discover, match_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from leslied.model.source import Root

MAX_CHECKED_LOGS = 2000
"""Number of newest logs to `stat`. Older ones are rarely continued, and the daemon's
scan checks all of them."""
_SINGLE_FILE_SHAPES = (Shape.APPEND_LOG, Shape.DOCUMENT, Shape.COMPRESSED_LOG)
_MTIME_TOLERANCE_NS = 2_000_000_000
"""A folder's mtime may be this much earlier than the moment of its change."""


class Freshness(Struct):
    """Number and newest change of an agent's sources, and how many are unread."""

    newest_ns: int | None = None
    unread: int = 0
    """Number of sources that were never read, or have changed since they were read."""
    oldest_unread_ns: int | None = None
    """The earliest modification time of the unread sources."""
    count: int = 0
    missing_roots: list[Path] = field(default_factory=list)
    """Roots that do not exist (yet)."""
    unreadable: list[Path] = field(default_factory=list)

    def add_change(self, mtime_ns: int, *, is_read: bool) -> None:
        """Take the last change of a source into account, but leave `count` as it is."""
        self.newest_ns = max(self.newest_ns or 0, mtime_ns)
        if not is_read:
            self.unread += 1
            self.oldest_unread_ns = min(self.oldest_unread_ns or mtime_ns, mtime_ns)


def check_freshness(
    agent: str,
    roots: Sequence[Root],
    read_times: Mapping[bytes, int | None],
    scanned_ns: int,
) -> Freshness:
    """Return the freshness of the known sources and of any new ones.

    `read_times` has the mtime of each known source when it was read, the newest first;
    None means that it is not known, so that the source does not count as unread.
    `scanned_ns` is the time of the last full scan; 0 means never and causes a full
    walk.
    """
    shapes = {pattern.shape for root in roots for pattern in root.patterns}
    if not scanned_ns or not shapes.issubset(_SINGLE_FILE_SHAPES):
        return _scan_all(agent, roots, read_times)
    freshness = Freshness(count=len(read_times))
    for path, read_ns in islice(read_times.items(), MAX_CHECKED_LOGS):
        if mtime_ns := _read_mtime_ns(path):
            freshness.add_change(mtime_ns, is_read=read_ns in (None, mtime_ns))
    seen_paths = set(read_times)
    folders = _list_parents(read_times)
    for root in roots:
        if not root.path.is_dir():
            freshness.missing_roots.append(root.path)
            continue
        for folder in _list_folders_below(root, folders):
            if _read_mtime_ns(folder) > scanned_ns - _MTIME_TOLERANCE_NS:
                for status in _find_new_files(root, folder, seen_paths, scanned_ns):
                    # An empty file has nothing to read, and of several links to a
                    # file, only one is read.
                    is_read = not status.st_size or status.st_nlink > 1
                    freshness.add_change(status.st_mtime_ns, is_read=is_read)
                    freshness.count += 1
    return freshness


def _list_folders_below(root: Root, source_folders: set[bytes]) -> set[bytes]:
    """Return the root, its folders with sources, and all of its direct subfolders."""
    top = os.fsencode(root.path)
    folders = {folder for folder in source_folders if folder.startswith(top + b"/")}
    with suppress(OSError), os.scandir(top) as entries:
        folders |= {entry.path for entry in entries if entry.is_dir()}
    return folders | {top}


def _scan_all(
    agent: str, roots: Iterable[Root], read_times: Mapping[bytes, int | None]
) -> Freshness:
    """Return the freshness that a walk of all folders finds."""
    discovery = discover(agent, roots)
    freshness = Freshness(
        count=discovery.count,
        missing_roots=discovery.missing_roots,
        unreadable=list(discovery.unreadable),
    )
    for source in discovery.sources:
        stamp = source.stamp
        # The time for a source that was never read: -1, which is no file's mtime, makes
        # it count as unread. None makes an empty source count as read.
        default = -1 if stamp.size else None
        read_ns = read_times.get(os.fsencode(source.path), default)
        freshness.add_change(stamp.mtime_ns, is_read=read_ns in (None, stamp.mtime_ns))
    return freshness


def _list_parents(paths: Iterable[bytes]) -> set[bytes]:
    """Return all folders above the paths."""
    folders: set[bytes] = set()
    for path in paths:
        folder = path[: path.rfind(b"/")]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder[: folder.rfind(b"/")]
    return folders


def _find_new_files(
    root: Root, folder: bytes, seen_paths: set[bytes], scanned_ns: int
) -> Iterator[os.stat_result]:
    """Yield the status of new sources in a folder; add their paths to `seen_paths`."""
    top = os.fsencode(root.path) + b"/"
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.path in seen_paths:
            continue
        name = os.fsdecode(entry.path.removeprefix(top))
        if entry.is_dir(follow_symlinks=False):
            if _read_mtime_ns(entry.path) > scanned_ns - _MTIME_TOLERANCE_NS:
                yield from _find_new_files(root, entry.path, seen_paths, scanned_ns)
        elif entry.is_file(follow_symlinks=False) and match_source(root, name):
            seen_paths.add(entry.path)
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False)


def _read_mtime_ns(path: bytes) -> int:
    """Return a path's mtime, or 0 if it does not exist or cannot be read."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - called thousands of times
    except OSError:
        return 0
