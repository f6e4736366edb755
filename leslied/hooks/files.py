"""Small private files: read without surprises, written whole or not at all."""

from __future__ import annotations

import os
import stat

TEMPORARY_SUFFIX = ".new"
"""How the name of a file ends that is not whole yet."""
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SAFE_CHARACTERS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
)


def read_part(path: str, offset: int, limit: int) -> bytes | None:
    """At most so many bytes of a regular file; None where there is no such file."""
    try:
        fd = os.open(path, _READ_FLAGS)
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
    """The last bytes of a regular file; none where there is no such file."""
    return read_part(path, get_size(path) - limit, limit) or b""


def get_size(path: str) -> int:
    """The file's size; 0 where there is none."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - no pathlib
    except (OSError, ValueError):
        return 0


def write_atomic(
    folder: str, name: str, data: bytes, *, is_synced: bool = False
) -> None:
    """`folder/name` holds exactly these bytes; both are private to their owner."""
    _make_folder(folder)
    path = f"{folder}/{name}"
    beside = f"{folder}/.{name}.{os.getpid()}{TEMPORARY_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(beside, flags, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if is_synced:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(beside, path)  # noqa: PTH104
    except OSError:
        remove_file(beside)
        raise


def _make_folder(folder: str) -> None:
    """The folder is there; whatever had to be made is private (makedirs is not)."""
    if os.path.isdir(folder):  # noqa: PTH112
        return
    above = folder.rpartition("/")[0]
    if above:
        _make_folder(above)
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        return


def list_names(folder: str) -> list[str]:
    """The names in a folder, sorted; none where there is no folder."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except (OSError, ValueError):
        return []


def remove_file(path: str) -> bool:
    """Whether the file was there and is not any more."""
    try:
        os.unlink(path)  # noqa: PTH108
    except (OSError, ValueError):
        return False
    return True


def get_age_seconds(path: str, now_ns: int) -> float:
    """Seconds since the file was last touched; 0 where there is none."""
    try:
        return (now_ns - os.lstat(path).st_mtime_ns) / 1e9
    except (OSError, ValueError):
        return 0.0


def make_safe_name(text: str, limit: int = 64) -> str:
    """The text where it may stand as a file name; else a hash of it."""
    if 0 < len(text) <= limit and _SAFE_CHARACTERS.issuperset(text):
        return text
    import hashlib  # noqa: PLC0415 - 8 ms that ids of random letters never cost

    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
