"""Read which files Git tracks, from its index file and without running `git`.

A repository may come from anybody: at most `_MAX_BYTES` are read, links are not
followed, and a damaged or unknown index counts as empty.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from leslied.fs import READ_FLAGS
from leslied.projects.git import find_index_dir, read_object_id_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FIRST_BYTES = 2**18
_MAX_BYTES = 64 * 2**20
_MAX_SHARED_INDEXES = 8
_HEADER_BYTES = 12
_FIXED_BYTES = 40
"""Bytes of an entry before its object id: times, device, mode, owner, size."""
_EXTENDED_FLAG = 0x4000
_PREFIX_COMPRESSED_VERSION = 4


def list_tracked_files(top: Path, folder: str) -> list[str]:
    """Return the files below `top/folder` that Git tracks, relative to `top`.

    Two repositories may track them: that of `top`, and that of `top/folder`, which may
    be another one, such as a submodule. If `top` only looks like a repository, Git
    treats it as part of a repository further up.
    """
    tracked: set[str] = set()
    for start in (top / folder, top):
        repository = _find_repository(start)
        if repository:
            parts = (top / folder).relative_to(repository).parts
            prefix = "".join(f"{part}/" for part in parts)
            names = _list_files(repository, prefix)
            tracked.update(f"{folder}/{name.removeprefix(prefix)}" for name in names)
    return sorted(tracked)


def _find_repository(folder: Path) -> Path | None:
    """Return the nearest of a folder and its parents that Git accepts, or None."""
    for path in (folder, *folder.parents):
        index_dir = find_index_dir(path)
        if index_dir and (index_dir / "HEAD").exists():
            return path
    return None


def _list_files(repository: Path, prefix_text: str) -> list[str]:
    """Return the tracked files of a working tree whose paths have this prefix."""
    index_dir = find_index_dir(repository)
    if index_dir is None:
        return []
    prefix = os.fsencode(prefix_text)
    id_bytes = read_object_id_bytes(index_dir)
    tracked: set[bytes] = set()
    # Git may split an index: the larger part is then in a file of its own.
    for name in ("index", *_list_shared_indexes(index_dir)):
        # Git sorts the paths, and those with a leading dot are among the first, so the
        # first bytes are nearly always enough.
        for limit in (_FIRST_BYTES, _MAX_BYTES):
            data = _read(index_dir / name, limit)
            if _find_paths(data, id_bytes, prefix, tracked) or len(data) < limit:
                break
    return [os.fsdecode(path) for path in tracked]


def _find_paths(data: bytes, id_bytes: int, prefix: bytes, paths: set[bytes]) -> bool:
    """Add the paths with this prefix to `paths`.

    Return False if the data ends before all of them are found.
    """
    try:
        for path in _iter_paths(data, id_bytes):
            if path.startswith(prefix):
                paths.add(path)
            elif path > prefix:
                break
    except (IndexError, ValueError):
        return False
    return True


def _iter_paths(data: bytes, id_bytes: int) -> Iterator[bytes]:
    """Yield all paths in an index in order.

    Raise IndexError or ValueError if the data is incomplete or damaged.
    """
    if data[:4] != b"DIRC":
        return
    version, count = _read_number(data, 4, 4), _read_number(data, 8, 4)
    at, path = _HEADER_BYTES, b""
    for _ in range(count):
        flags_at = at + _FIXED_BYTES + id_bytes
        is_extended = _read_number(data, flags_at, 2) & _EXTENDED_FLAG
        start = flags_at + (4 if is_extended else 2)
        if version == _PREFIX_COMPRESSED_VERSION:
            removed_bytes, start = _read_offset(data, start)
            path = path[: len(path) - removed_bytes]
            end = data.index(b"\0", start)
            path, at = path + data[start:end], end + 1
        else:
            end = data.index(b"\0", start)
            # Entries are padded with one to eight zeros to a multiple of eight bytes.
            path, at = data[start:end], at + (end - at + 8) // 8 * 8
        yield path


def _read_number(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise IndexError
    return int.from_bytes(data[at : at + size], "big")


def _read_offset(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in Git's variable-length encoding, and the position after it."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | data[at] & 0x7F
    return value, at + 1


def _list_shared_indexes(index_dir: Path) -> list[str]:
    try:
        names = [entry.name for entry in os.scandir(index_dir)]
    except OSError:
        return []
    return [name for name in names if name.startswith("sharedindex.")][
        :_MAX_SHARED_INDEXES
    ]


def _read(path: Path, limit: int) -> bytes:
    """Return the first bytes of a regular file, or b"" if it cannot be read."""
    try:
        fd = os.open(path, READ_FLAGS)
    except OSError:
        return b""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return b""
        return os.read(fd, min(status.st_size, limit))
    except OSError:
        return b""
    finally:
        os.close(fd)
