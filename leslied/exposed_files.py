"""Find files that other users can access, and make them private.

A restored backup, or an older version of leslied, can leave such files. Symbolic links
are not followed, and files with several names are left alone: another name may be that
of a file that is not leslied's.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leslied.fs import FOLDER_FLAGS, READ_FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_MAX_DEPTH = 12
"""Number of levels of folders that are searched; leslied creates fewer."""
_OTHERS = 0o077
"""Mode bits of the group and of all other users."""


def find_exposed_files(
    base: Path, names: Iterable[str], *, repair: bool = False
) -> Iterator[Path]:
    """Yield the files and folders that other users can access.

    `names` are paths below `base`; folders are searched. With `repair`, remove the
    rights of other users from each file and folder that is found.
    """
    for name in names:
        *folders, last = name.split("/")
        with _open_folder(base, folders) as fd:
            if fd >= 0:
                path = base.joinpath(*folders, last)
                yield from _search(fd, last, path, _MAX_DEPTH, repair=repair)


def _search(
    parent_fd: int, name: str, path: Path, depth: int, *, repair: bool
) -> Iterator[Path]:
    """Yield `path` and what is below it, as far as other users can access it.

    `name` is the last part of `path`, in the folder `parent_fd`; `depth` is the number
    of levels to search. Files with several names are left out, because another name may
    be that of somebody else's file.
    """
    try:
        fd = os.open(name, READ_FLAGS, dir_fd=parent_fd)
    except OSError:
        return
    try:
        status = os.fstat(fd)
        is_folder = stat.S_ISDIR(status.st_mode)
        is_file = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        if status.st_uid != os.getuid() or not (is_folder or is_file):
            return
        if status.st_mode & _OTHERS:
            if repair:
                os.fchmod(fd, stat.S_IMODE(status.st_mode) & ~_OTHERS)
            yield path
        if is_folder and depth:
            for child in sorted(entry.name for entry in os.scandir(fd)):
                yield from _search(fd, child, path / child, depth - 1, repair=repair)
    finally:
        os.close(fd)


@contextmanager
def _open_folder(base: Path, folders: list[str]) -> Iterator[int]:
    """Yield a descriptor of the folder below `base`, or -1 if it cannot be opened."""
    fd = -1
    try:
        fd = os.open(base, FOLDER_FLAGS)
        for folder in folders:
            child = os.open(folder, FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = child
    except OSError:
        if fd >= 0:
            os.close(fd)
        fd = -1
    try:
        yield fd
    finally:
        if fd >= 0:
            os.close(fd)
