"""Small private files: reads that never block or raise, and atomic writes."""

from __future__ import annotations

import os
import stat

from leslied.fs import READ_FLAGS, AtomicFile, make_missing_folders

TEMPORARY_SUFFIX = ".new"
"""Suffix of a file that is still being written."""
_SAFE_CHARACTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
)


def read_part(path: str, offset: int, limit: int) -> bytes | None:
    """Return up to `limit` bytes of a regular file, or None if it cannot be read.

    A negative `offset` counts as 0.
    """
    try:
        fd = os.open(path, READ_FLAGS)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return os.pread(fd, limit, max(offset, 0))
    except OSError:
        return None
    finally:
        os.close(fd)


def read_tail(path: str, limit: int) -> bytes:
    """Return the last `limit` bytes of a regular file, empty if it cannot be read."""
    return read_part(path, get_size(path) - limit, limit) or b""


def get_size(path: str) -> int:
    """Return the file's size in bytes, 0 if it does not exist."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - no pathlib
    except (OSError, ValueError):
        return 0


def write_atomic(
    folder: str, name: str, data: bytes, *, is_synced: bool = False
) -> None:
    """Write `folder/name` atomically, readable by its owner only.

    Missing folders are created with the same restriction. If `is_synced`, the data is
    on the disk before the file gets its name. Raise OSError if writing fails; an old
    file then stays as it was.
    """
    make_missing_folders(folder)
    # Several hooks may run at the same time.
    temporary = f".{name}.{os.getpid()}{TEMPORARY_SUFFIX}"
    with AtomicFile(
        f"{folder}/{name}", temporary=temporary, is_synced=is_synced
    ) as file:
        file.write(data)


def list_names(folder: str) -> list[str]:
    """Return the sorted names in a folder; empty if it cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return []


def remove_file(path: str) -> bool:
    """Remove a file; return whether that succeeded."""
    try:
        os.unlink(path)  # noqa: PTH108
    except (OSError, ValueError):
        return False
    return True


def get_age_seconds(path: str, now_ns: int) -> float:
    """Return the seconds since the file was modified, 0 if it does not exist."""
    try:
        return (now_ns - os.lstat(path).st_mtime_ns) / 1e9
    except (OSError, ValueError):
        return 0.0


def make_safe_name(text: str, max_characters: int = 64) -> str:
    """Return the text if it is safe as a file name, else a hash of it."""
    if 0 < len(text) <= max_characters and _SAFE_CHARACTERS.issuperset(text):
        return text
    import hashlib  # noqa: PLC0415 - 8 ms; normal ids do not need it

    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
