"""Writing output: the only place that does.

Folders are walked by descriptor and never through a link; a file is complete under its
name or not there at all.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from leslied.errors import SinkError
from leslied.failpoints import failpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.model.output import Artifact

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY_NAME = ".leslied-new"
_CHUNK_BYTES = 4096


def write_file(base: Path, name: str, data: bytes) -> None:
    """`base/name` holds exactly these bytes, mode 0600; `base` must exist."""
    *folders, file = name.split("/")
    with _open_folder(base, folders) as fd:
        _replace_file(fd, file, data)


def write_artifact(base: Path, artifact: Artifact) -> None:
    """The artifact stands below `base`, and nothing that contradicts it."""
    write_file(base, artifact.path, artifact.body)
    for name in artifact.replaces:
        remove_file(base, name)


def make_folder(path: Path) -> None:
    """The folder exists, private to its owner; for our own places, never a project."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SinkError(f"{path} cannot be made: {error.strerror}") from error


def read_file(base: Path, name: str) -> bytes | None:
    """What `base/name` holds; None where there is no such file."""
    *folders, file = name.split("/")
    try:
        with _open_folder(base, folders, is_made=False) as fd:
            handle = os.open(
                file,
                os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC,
                dir_fd=fd,
            )
            with os.fdopen(handle, "rb") as stream:
                return stream.read()
    except (SinkError, FileNotFoundError):
        return None


def remove_file(base: Path, name: str) -> None:
    """`base/name` is not there any more."""
    *folders, file = name.split("/")
    try:
        with _open_folder(base, folders, is_made=False) as fd:
            os.unlink(file, dir_fd=fd)
    except (SinkError, FileNotFoundError):
        return


def merge_folder(base: Path, old: str, new: str) -> None:
    """What stood in `base/old` stands in `base/new`, but for names that are taken."""
    try:
        with (
            _open_folder(base, old.split("/"), is_made=False) as source,
            _open_folder(base, new.split("/")) as target,
        ):
            _merge(source, target)
        *folders, name = old.split("/")
        with _open_folder(base, folders, is_made=False) as fd:
            os.rmdir(name, dir_fd=fd)
    except SinkError:
        return


def _merge(source: int, target: int) -> None:
    for name in os.listdir(source):
        try:
            os.stat(name, dir_fd=target, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=target)
            continue
        with suppress(OSError):
            below = [os.open(name, _FOLDER_FLAGS, dir_fd=fd) for fd in (source, target)]
            try:
                _merge(*below)
            finally:
                for fd in below:
                    os.close(fd)
            os.rmdir(name, dir_fd=source)


@contextmanager
def _open_folder(
    base: Path, folders: list[str], *, is_made: bool = True
) -> Iterator[int]:
    """A descriptor of the folder below base, made where it is missing."""
    try:
        fd = os.open(base, _FOLDER_FLAGS)
    except OSError as error:
        raise SinkError(f"{base} cannot be opened: {error.strerror}") from error
    try:
        for folder in folders:
            below = _open_child(fd, folder, is_made=is_made)
            os.close(fd)
            fd = below
        yield fd
    except OSError as error:
        raise SinkError(f"{base} cannot be written: {error.strerror}") from error
    finally:
        os.close(fd)


def _open_child(fd: int, folder: str, *, is_made: bool) -> int:
    if folder in ("", ".", ".."):
        raise SinkError(f"{folder!r} is no name")
    if is_made:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700, dir_fd=fd)
    return os.open(folder, _FOLDER_FLAGS, dir_fd=fd)


def _replace_file(fd: int, file: str, data: bytes) -> None:
    """Written beside, synced, then renamed into place."""
    # What a crash left there goes; a pipe or another name of a file would do harm.
    with suppress(FileNotFoundError):
        os.unlink(_TEMPORARY_NAME, dir_fd=fd)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(_TEMPORARY_NAME, flags, 0o600, dir_fd=fd)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view[:_CHUNK_BYTES]) :]
            failpoint("write.half")
        os.fchmod(handle, 0o600)
        os.fsync(handle)
    finally:
        os.close(handle)
    failpoint("write.before")
    os.rename(_TEMPORARY_NAME, file, src_dir_fd=fd, dst_dir_fd=fd)
    failpoint("write.after")
    os.fsync(fd)
