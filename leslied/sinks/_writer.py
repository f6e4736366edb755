"""Atomic writing of files below an output folder.

Folders are opened by descriptor and never through a symbolic link. A file is replaced
as a whole or not at all.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from leslied import fs
from leslied.errors import SinkError
from leslied.failpoints import failpoint
from leslied.layout import (
    GITIGNORE_FILE,
    INDEX_FILE,
    INDEX_PAGE,
    LESLIE_FOLDER,
    META_FOLDER,
    RELATIONS_BACKUP,
    RELATIONS_FILE,
    THREADS_FOLDER,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.model.output import Artifact

_TEMPORARY_NAME = fs.TEMPORARY_SUFFIX
"""One name for all files of a folder, so that a crash leaves at most one behind."""
MAX_READ_BYTES = 16 * 1024 * 1024
"""Largest file that is read from a project, which may bring files of any size."""
_CHUNK_BYTES = 4096
_CENTRAL_FILES = (
    INDEX_FILE,
    INDEX_PAGE,
    RELATIONS_FILE,
    RELATIONS_BACKUP,
    GITIGNORE_FILE,
)
"""Files in a folder of the central tree that list its threads."""


def write_file(base: Path, name: str, data: bytes) -> None:
    """Replace `base/name` with a file of these bytes, mode 0600; `base` must exist."""
    *folders, file = name.split("/")
    with _open_folder(base, folders) as fd:
        _replace_file(fd, file, data)


def write_artifact(base: Path, artifact: Artifact) -> None:
    """Write the artifact below `base` and remove the files that it replaces."""
    write_file(base, artifact.path, artifact.body)
    for name in artifact.replaces:
        remove_file(base, name)


def make_folder(path: Path) -> None:
    """Create a folder that only its owner can use; not for folders of projects.

    Raise SinkError if that fails.
    """
    try:
        fs.make_missing_folders(path)
    except OSError as error:
        raise SinkError(f"{path} cannot be created: {error.strerror}") from error


def read_file(base: Path, name: str) -> bytes | None:
    """Return the bytes of `base/name`, or None if it cannot be read.

    Return one byte more than `MAX_READ_BYTES` of a file that is larger.
    """
    *folders, file = name.split("/")
    try:
        with _open_folder(base, folders, create=False) as fd:
            file_fd = os.open(file, fs.READ_FLAGS, dir_fd=fd)
            with os.fdopen(file_fd, "rb") as stream:
                return stream.read(MAX_READ_BYTES + 1)
    except (SinkError, FileNotFoundError):
        return None


def remove_file(base: Path, name: str) -> None:
    """Delete `base/name`; do nothing if it cannot be deleted."""
    *folders, file = name.split("/")
    try:
        with _open_folder(base, folders, create=False) as fd:
            os.unlink(file, dir_fd=fd)
    except (SinkError, FileNotFoundError):
        return


def list_files(base: Path, folder: str) -> list[str]:
    """Return the paths of all files in `base/folder` and below, relative to `base`.

    Links are not followed. The list is empty if the folder cannot be read.
    """
    try:
        with _open_folder(base, folder.split("/"), create=False) as fd:
            return [
                "/".join([folder, *parent.split("/")[1:], file])
                for parent, _, files, _ in os.fwalk(".", dir_fd=fd)
                for file in files
            ]
    except SinkError:
        return []


def remove_thread(base: Path, thread_id: str) -> None:
    """Delete what leslied wrote in a thread's folder, and the folder if then empty."""
    with (
        suppress(SinkError),
        _open_folder(base, [*THREADS_FOLDER.split("/")], create=False) as fd,
    ):
        thread_fd = os.open(thread_id, fs.FOLDER_FLAGS, dir_fd=fd)
        try:
            with suppress(FileNotFoundError):
                shutil.rmtree(META_FOLDER, dir_fd=thread_fd)
        finally:
            os.close(thread_fd)
        with suppress(OSError):
            os.rmdir(thread_id, dir_fd=fd)


def remove_central_thread(base: Path, thread_id: str) -> None:
    """Delete a thread's files in its folder of the central tree.

    If the thread was the last one, delete the folder's index, too. Files that leslied
    did not write stay.
    """
    remove_thread(base, thread_id)
    with suppress(OSError):
        (base / THREADS_FOLDER).rmdir()
        for name in _CENTRAL_FILES:
            (base / name).unlink(missing_ok=True)
        (base / LESLIE_FOLDER).rmdir()
        base.rmdir()


def merge_folder(base: Path, old: str, new: str) -> None:
    """Move the contents of `base/old` to `base/new`; remove `base/old` if then empty.

    Files that exist in both folders stay in `base/old`. Errors are ignored.
    """
    try:
        with (
            _open_folder(base, old.split("/"), create=False) as source_fd,
            _open_folder(base, new.split("/")) as target_fd,
        ):
            _merge_contents(source_fd, target_fd)
        *folders, name = old.split("/")
        with _open_folder(base, folders, create=False) as fd:
            os.rmdir(name, dir_fd=fd)
    except SinkError:
        return


def _merge_contents(source_fd: int, target_fd: int) -> None:
    """Move everything that the target lacks; merge folders that both have."""
    for name in os.listdir(source_fd):
        try:
            os.stat(name, dir_fd=target_fd, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, name, src_dir_fd=source_fd, dst_dir_fd=target_fd)
            continue
        with suppress(OSError):
            child_fds = [
                os.open(name, fs.FOLDER_FLAGS, dir_fd=fd)
                for fd in (source_fd, target_fd)
            ]
            try:
                _merge_contents(*child_fds)
            finally:
                for fd in child_fds:
                    os.close(fd)
            os.rmdir(name, dir_fd=source_fd)


@contextmanager
def _open_folder(
    base: Path, folders: list[str], *, create: bool = True
) -> Iterator[int]:
    """Yield a descriptor of the folder below `base`; create missing folders if asked.

    An OSError, also one in the `with` block, is raised as a SinkError.
    """
    try:
        fd = os.open(base, fs.FOLDER_FLAGS)
    except OSError as error:
        raise SinkError(f"{base} cannot be opened: {error.strerror}") from error
    try:
        for folder in folders:
            child = _open_child(fd, folder, create=create)
            os.close(fd)
            fd = child
        yield fd
    except OSError as error:
        raise SinkError(f"{base} cannot be written: {error.strerror}") from error
    finally:
        os.close(fd)


def _open_child(fd: int, folder: str, *, create: bool) -> int:
    """Return a descriptor of a folder directly below the one that `fd` describes."""
    if folder in ("", ".", ".."):
        raise SinkError(f"{folder!r} is not a valid folder name")
    if create:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700, dir_fd=fd)
    return os.open(folder, fs.FOLDER_FLAGS, dir_fd=fd)


def _replace_file(fd: int, file: str, data: bytes) -> None:
    """Replace a file in the folder that `fd` describes."""
    with fs.AtomicFile(file, dir_fd=fd, temporary=_TEMPORARY_NAME) as new_file:
        for start in range(0, len(data), _CHUNK_BYTES):
            new_file.write(data[start : start + _CHUNK_BYTES])
            failpoint("write.half")
        failpoint("write.before")
    failpoint("write.after")
