"""Safe reading and replacing of a file that belongs to the user.

The file is opened relative to its folder's descriptor, never through a link. It is
replaced atomically, only if it did not change since it was read, and keeps its mode and
owner.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leslied import fs
from leslied.errors import SinkError, UserError
from leslied.failpoints import failpoint
from leslied.folders import LinkInPathError, open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 4 * 2**20
_CHUNK_BYTES = 4096


class LinkError(UserError):
    """The file, or its folder, is a symbolic link."""

    def __init__(self, path: Path) -> None:
        self.target = str(path.readlink())
        super().__init__(
            f"{path.name} is a link to {self.target}, "
            "and leslied does not follow links.",
            "Replace it by a regular file.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSnapshot:
    """Content and status of a file when it was read; both None if there was no file."""

    folder: Path
    name: str
    data: bytes | None = None
    file_stat: os.stat_result | None = None


def read_snapshot(folder: Path, name: str) -> FileSnapshot:
    """Read `folder/name`; raise LinkError, or UserError for an unsuitable file.

    Raise FileNotFoundError if the folder does not exist.
    """
    with _open_folder(folder) as folder_fd:
        try:
            file_fd = os.open(name, fs.READ_FLAGS, dir_fd=folder_fd)
        except FileNotFoundError:
            return FileSnapshot(folder=folder, name=name)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise LinkError(folder / name) from error
            raise
        try:
            status = os.fstat(file_fd)
            _check_suitable(name, status)
            with os.fdopen(file_fd, "rb", closefd=False) as file:
                return FileSnapshot(
                    folder=folder, name=name, data=file.read(), file_stat=status
                )
        finally:
            os.close(file_fd)


def replace_file(
    snapshot: FileSnapshot, data: bytes | None, *, is_private: bool = False
) -> None:
    """Replace the file's content, or delete the file if `data` is None.

    A new file has mode 0600 if it is private, else the mode of its folder. Raise
    UserError if the file changed since the snapshot was taken.
    """
    with _open_folder(snapshot.folder) as folder_fd:
        if data is None:
            _check_unchanged(folder_fd, snapshot)
            os.unlink(snapshot.name, dir_fd=folder_fd)
            os.fsync(folder_fd)
        else:
            _replace(folder_fd, snapshot, data, is_private=is_private)


def _replace(
    folder_fd: int, snapshot: FileSnapshot, data: bytes, *, is_private: bool
) -> None:
    """Replace the file, unless it changes in the meantime."""
    _remove_leftovers(folder_fd, snapshot.name)
    temporary = f".{snapshot.name}.{secrets.token_hex(4)}{fs.TEMPORARY_SUFFIX}"
    with fs.AtomicFile(snapshot.name, dir_fd=folder_fd, temporary=temporary) as file:
        for start in range(0, len(data), _CHUNK_BYTES):
            file.write(data[start : start + _CHUNK_BYTES])
            failpoint("guide.half")
        if snapshot.file_stat or not is_private:
            _copy_mode_and_owner(file.fd, folder_fd, snapshot.file_stat)
        file.sync()
        _check_unchanged(folder_fd, snapshot)
        failpoint("guide.before")


def _remove_leftovers(folder_fd: int, name: str) -> None:
    """Delete temporary files of runs that were killed."""
    for entry in os.listdir(folder_fd):
        if entry.startswith(f".{name}.") and entry.endswith(fs.TEMPORARY_SUFFIX):
            with suppress(FileNotFoundError):
                os.unlink(entry, dir_fd=folder_fd)


def _copy_mode_and_owner(
    file_fd: int, folder_fd: int, status: os.stat_result | None
) -> None:
    """Apply the old file's mode and, if permitted, its owner.

    `status` is that of the old file. Without an old file, the mode is that of the
    folder, without execution for anybody and without writing for others.
    """
    if status is None:
        os.fchmod(file_fd, os.fstat(folder_fd).st_mode & 0o664 | 0o600)
        return
    with suppress(PermissionError):
        os.fchown(file_fd, status.st_uid, status.st_gid)
    os.fchmod(file_fd, stat.S_IMODE(status.st_mode))


def _check_unchanged(folder_fd: int, snapshot: FileSnapshot) -> None:
    """Raise UserError if the file changed since the snapshot was taken."""
    try:
        current_stat = os.stat(snapshot.name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        current_stat = None
    if _get_identity(current_stat) != _get_identity(snapshot.file_stat):
        raise UserError(
            f"Another program has just changed {snapshot.name}: "
            "leslied did not change it.",
            "Try again.",
        )


def _get_identity(status: os.stat_result | None) -> tuple[int, ...]:
    """Return values that differ after the file was changed or replaced."""
    if status is None:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _check_suitable(name: str, status: os.stat_result) -> None:
    """Raise UserError if the file is not a regular file or is too large."""
    if not stat.S_ISREG(status.st_mode):
        raise UserError(
            f"{name} is not a regular file.", "Move it away, then try again."
        )
    if status.st_size > MAX_BYTES:
        raise UserError(
            f"{name} has {status.st_size} bytes, too many for such a file.",
            "Check its content.",
        )


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    """Yield a descriptor of the folder.

    Raise LinkError if the folder itself is a link, FileNotFoundError if it is missing,
    and SinkError if it cannot be opened for another reason.
    """
    try:
        with open_folder(folder) as opened:
            yield opened.fd
    except LinkInPathError as error:
        if folder.is_symlink():
            raise LinkError(folder) from error
        raise
    except SinkError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise error.__cause__ from None
        raise
