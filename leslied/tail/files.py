"""Open and read other programs' files without disturbing them."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.model.source import FileStamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def open_regular(path: Path) -> Iterator[int]:
    """Yield a descriptor of a regular file, without blocking on a FIFO or device.

    Raise SourceError if the file cannot be opened or read, or is not regular.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        fd = os.open(path, flags)
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SourceError("is not a regular file")
        yield fd
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)


def make_stamp(status: os.stat_result) -> FileStamp:
    """Return the stamp for a result of `stat`."""
    return FileStamp(
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
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
