"""Open and read other programs' files without disturbing them."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.fs import TRAVERSAL_FLAGS, open_below
from leslied.model.source import FileStamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""Errors of `open` that a link in the path causes, on different systems."""
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


@contextmanager
def open_regular(
    path: Path, root: Path | None = None, *, follow_links: bool = True
) -> Iterator[int]:
    """Yield a descriptor of a regular file, without blocking on a FIFO or device.

    With a `root`, only a file below it is opened, also after links are resolved;
    without `follow_links`, no link below the root is followed. Raise SourceError if the
    file cannot be opened or read, is not regular, or is not below the root.
    """
    try:
        fd = (
            open_inside(path, root, _FLAGS, follow_links=follow_links)
            if root
            else os.open(path, _FLAGS)
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot be opened: {reason}") from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SourceError("is not a regular file")
        yield fd
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)


def open_inside(
    path: Path, root: Path, flags: int, *, follow_links: bool = True
) -> int:
    """Return a descriptor of a path below the root, even if links change meanwhile.

    Links are followed only if they stay below the root, and only with `follow_links`.
    Raise OSError if the path cannot be opened or leads out of the root, and ValueError
    if it does not begin with the root.
    """
    # Faster than `relative_to`, and every read of a source passes here.
    path_text, prefix = str(path), f"{root}/"
    if not path_text.startswith(prefix):
        raise ValueError(f"not below {root}")
    root_fd = os.open(root, TRAVERSAL_FLAGS & ~os.O_NOFOLLOW)
    try:
        below_root = path_text[len(prefix) :]
        return open_below(root_fd, below_root, flags | os.O_NOFOLLOW)
    except OSError as error:
        if not follow_links or error.errno not in _LINK_ERRORS:
            raise
        # Whoever swaps a link after it is resolved makes the second attempt fail.
        real_path = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
        return open_below(root_fd, real_path, flags | os.O_NOFOLLOW)
    finally:
        os.close(root_fd)


def make_stamp(status: os.stat_result) -> FileStamp:
    """Return the stamp for a result of `stat`."""
    # Every scan does this for every log; the constructor takes twice the time.
    return tuple.__new__(
        FileStamp,
        (
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        ),
    )


def read_at(fd: int, length: int, offset: int) -> bytes:
    """Return `length` bytes at the offset, or fewer at the end of the file."""
    data = os.pread(fd, length, offset)
    while data and len(data) < length:
        piece = os.pread(fd, length - len(data), offset + len(data))
        if not piece:
            break
        data += piece
    return data


def iter_range(fd: int, start: int, end: int, chunk_size: int) -> Iterator[bytes]:
    """Yield the bytes from start to end in pieces of at most `chunk_size`."""
    while start < end:
        data = os.pread(fd, min(chunk_size, end - start), start)
        if not data:
            return
        yield data
        start += len(data)
