"""Atomic replacement of files, and folders that only their owner can use.

Callers decide what may be written where; this module knows how. Hooks load it, so it
imports nothing but `os`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # Importing it from `typing` would cost a hook milliseconds.
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a folder, but not through a symbolic link."""
TRAVERSAL_FLAGS = FOLDER_FLAGS | getattr(os, "O_PATH", 0)
"""Flags to open a folder on the way to another; it need not be readable."""
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags to open an untrusted file: no symbolic links, and a pipe does not block."""
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
TEMPORARY_SUFFIX = ".leslied-new"
"""Suffix of the default names of temporary files."""


class AtomicFile:
    """A new file that replaces an old one as a whole or not at all.

    A `with` block writes to a temporary file in the same folder. At its end, the file
    is synced and gets its name; if it raises, the old file stays. The new file has mode
    0600; change that through `fd`.
    """

    __slots__ = ("_dir_fd", "_is_synced", "_name", "_temporary", "fd")

    def __init__(
        self,
        name: str,
        *,
        dir_fd: int | None = None,
        temporary: str = "",
        is_synced: bool = True,
    ) -> None:
        """Prepare to write `name`, relative to the folder `dir_fd` if that is given.

        `temporary` is the name of the temporary file; two processes that may write the
        same file at the same time need different ones. Without `is_synced`, the file
        may be empty after a power loss.
        """
        folder, slash, base_name = name.rpartition("/")
        self._name = name
        self._temporary = (
            folder + slash + (temporary or f".{base_name}{TEMPORARY_SUFFIX}")
        )
        self._dir_fd = dir_fd
        self._is_synced = is_synced
        self.fd = -1
        """Descriptor of the temporary file; -1 while it is not open."""

    def __enter__(self) -> Self:
        # What has the temporary name is deleted, not opened: it may remain from a
        # crash, but it may also be a pipe, which blocks, or a hard link to a file.
        self._remove_temporary()
        self.fd = os.open(self._temporary, _CREATE_FLAGS, 0o600, dir_fd=self._dir_fd)
        os.fchmod(self.fd, 0o600)  # The umask may have removed bits.
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        is_committed = False
        try:
            if error_type is None:
                self._commit()
                is_committed = True
        finally:
            if self.fd >= 0:
                self._close()
            if not is_committed:
                self._remove_temporary()

    def write(self, data: bytes) -> None:
        """Append the bytes."""
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[os.write(self.fd, unwritten) :]

    def sync(self) -> None:
        """Flush the bytes to disk now, before the end of the block."""
        os.fsync(self.fd)

    def _commit(self) -> None:
        if self._is_synced:
            self.sync()
        self._close()
        os.rename(
            self._temporary,
            self._name,
            src_dir_fd=self._dir_fd,
            dst_dir_fd=self._dir_fd,
        )
        if self._is_synced:
            self._sync_folder()

    def _close(self) -> None:
        fd, self.fd = self.fd, -1
        os.close(fd)

    def _sync_folder(self) -> None:
        if self._dir_fd is None:
            sync_folder(self._name.rpartition("/")[0] or "/")
        else:
            os.fsync(self._dir_fd)

    def _remove_temporary(self) -> None:
        try:
            os.unlink(self._temporary, dir_fd=self._dir_fd)
        except FileNotFoundError:
            return


def open_below(fd: int, path: str, flags: int) -> int:
    """Return a descriptor of a path below the folder `fd`; follow no links on the way.

    For the last part of the path, `flags` decide whether a link is followed. Raise
    OSError if that fails, or if the path may lead out of the folder.
    """
    *folders, name = path.split("/")
    if not {"", ".", ".."}.isdisjoint((*folders, name)):
        raise FileNotFoundError(2, "not a path below the folder", path)
    parent_fd = os.dup(fd)
    try:
        for folder in folders:
            child_fd = os.open(folder, TRAVERSAL_FLAGS, dir_fd=parent_fd)
            os.close(parent_fd)
            parent_fd = child_fd
        return os.open(name, flags, dir_fd=parent_fd)
    finally:
        os.close(parent_fd)


def replace_file(path: Path | str, data: bytes) -> None:
    """Replace the file atomically, mode 0600; raise OSError if that fails."""
    with AtomicFile(os.fspath(path)) as file:
        file.write(data)


def sync_folder(folder: Path | str) -> None:
    """Flush a folder to disk, so that names in it survive a power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_missing_folders(folder: Path | str) -> None:
    """Create the folder and its missing parents, all with mode 0700.

    `os.makedirs` would apply the mode to the last folder only.
    """
    path = os.fspath(folder)
    if os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to import
        return
    parent = path.rpartition("/")[0]
    if parent:
        make_missing_folders(parent)
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileExistsError:
        return
    os.chmod(path, 0o700)  # noqa: PTH101 - the umask may have removed bits


def make_private_dir(folder: Path | str) -> None:
    """Create the folder; if it exists, make it inaccessible for other users."""
    make_missing_folders(folder)
    if os.stat(folder).st_mode & 0o077:  # noqa: PTH116
        os.chmod(folder, 0o700)  # noqa: PTH101
