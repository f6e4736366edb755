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

from leslied.errors import UserError
from leslied.failpoints import failpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 4 * 2**20
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY_SUFFIX = ".leslied-new"
_CHUNK_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSnapshot:
    """Content and identity of a file when it was read; `data` is None if missing."""

    folder: Path
    name: str
    data: bytes | None = None
    file_stat: os.stat_result | None = None


def read_snapshot(folder: Path, name: str) -> FileSnapshot:
    """Read `folder/name`; raises UserError for a link or an unsuitable file."""
    with _open_folder(folder) as fd:
        try:
            handle = os.open(name, _READ_FLAGS, dir_fd=fd)
        except FileNotFoundError:
            return FileSnapshot(folder=folder, name=name)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise _make_link_error(folder / name) from error
            raise
        try:
            status = os.fstat(handle)
            _refuse_irregular(name, status)
            with os.fdopen(handle, "rb", closefd=False) as file:
                return FileSnapshot(
                    folder=folder, name=name, data=file.read(), file_stat=status
                )
        finally:
            os.close(handle)


def replace_file(snapshot: FileSnapshot, data: bytes | None) -> None:
    """Replace the file's content, or delete the file if `data` is None.

    Raises UserError if the file changed since the snapshot was taken.
    """
    with _open_folder(snapshot.folder) as fd:
        if data is None:
            _refuse_changed(fd, snapshot)
            os.unlink(snapshot.name, dir_fd=fd)
        else:
            _replace(fd, snapshot, data)
        os.fsync(fd)


def _replace(fd: int, snapshot: FileSnapshot, data: bytes) -> None:
    """Write a temporary file, sync it and rename it to the target."""
    _remove_leftovers(fd, snapshot.name)
    temporary = f".{snapshot.name}.{secrets.token_hex(4)}{_TEMPORARY_SUFFIX}"
    handle = os.open(temporary, _CREATE_FLAGS, 0o600, dir_fd=fd)
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view[:_CHUNK_BYTES]) :]
                failpoint("guide.half")
            _copy_mode_and_owner(handle, fd, snapshot.file_stat)
            os.fsync(handle)
        _refuse_changed(fd, snapshot)
        failpoint("guide.before")
        os.rename(temporary, snapshot.name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=fd)
        raise


def _remove_leftovers(fd: int, name: str) -> None:
    """Delete temporary files of runs that were killed."""
    for other in os.listdir(fd):
        if other.startswith(f".{name}.") and other.endswith(_TEMPORARY_SUFFIX):
            with suppress(FileNotFoundError):
                os.unlink(other, dir_fd=fd)


def _copy_mode_and_owner(handle: int, fd: int, status: os.stat_result | None) -> None:
    """Apply the old file's mode and owner; a new file gets its folder's mode."""
    if status is None:
        os.fchmod(handle, os.fstat(fd).st_mode & 0o664 | 0o600)
        return
    with suppress(PermissionError):
        os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, stat.S_IMODE(status.st_mode))


def _refuse_changed(fd: int, snapshot: FileSnapshot) -> None:
    try:
        now = os.stat(snapshot.name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if _get_identity(now) != _get_identity(snapshot.file_stat):
        raise UserError(
            f"Another program has just changed {snapshot.name}: "
            "leslied did not change it.",
            "Try again.",
        )


def _get_identity(status: os.stat_result | None) -> tuple[int, ...]:
    if status is None:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _make_link_error(path: Path) -> UserError:
    target = str(path.readlink())
    is_in_same_folder = "/" not in target
    return UserError(
        f"{path.name} is a link to {target}, and leslied does not follow links.",
        f"To write to its target: leslied init --file {target}"
        if is_in_same_folder
        else "Replace it by a regular file, or choose another file with --file.",
    )


def _refuse_irregular(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UserError(
            f"{name} is not a regular file.", "Move it away, then try again."
        )
    if status.st_size > MAX_BYTES:
        raise UserError(
            f"{name} has {status.st_size} bytes, too many for an instructions file.",
            "Check its content.",
        )


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    fd = os.open(folder, _FOLDER_FLAGS)
    try:
        yield fd
    finally:
        os.close(fd)
