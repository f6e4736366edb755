"""Folders that are held open by descriptor, and the files below them.

Whoever can write to a folder can put a link in place of anything in it, also between a
check and a write. So a path is walked once, name by name and never through a link, and
everything else is relative to the descriptor at its end. Checks look at descriptors,
too. All writes below a project's folder go through this module.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from leslied import fs
from leslied.errors import SinkError
from leslied.failpoints import failpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

MAX_READ_BYTES = 16 * 1024 * 1024
"""Largest file that is read from a project, which may bring files of any size."""
_TEMPORARY_NAME = fs.TEMPORARY_SUFFIX
"""Always the same name, so that the next write deletes what a crash left."""
_CHUNK_BYTES = 4096
_ROOT = Path("/")
_TRUSTED_FLAGS = fs.TRAVERSAL_FLAGS & ~os.O_NOFOLLOW
_trusted_folders = {_ROOT}


class LinkInPathError(SinkError):
    """The path of a folder leads through a symbolic link."""


class Folder(NamedTuple):
    """A folder that is held open; names of files are relative to it."""

    path: Path
    """The path by which the folder was opened, for messages."""
    fd: int
    owner: int | None = None
    """User who must own the folders below this one; None if anybody may."""

    def write_file(self, name: str, data: bytes, *, is_synced: bool = True) -> None:
        """Replace the file atomically, mode 0600; create missing folders.

        Without `is_synced`, the file may be empty after a power loss. Raise SinkError
        if it cannot be written.
        """
        with (
            self.open_parent(name, create=True) as (fd, file),
            fs.AtomicFile(
                file, dir_fd=fd, temporary=_TEMPORARY_NAME, is_synced=is_synced
            ) as new_file,
        ):
            _write_chunks(new_file, data)
            failpoint("write.before")
        failpoint("write.after")

    def read_file(self, name: str) -> bytes | None:
        """Return the bytes of a regular file, or None if it cannot be read.

        Return one byte more than `MAX_READ_BYTES` of a file that is larger.
        """
        try:
            with (
                self.open_parent(name) as (fd, file),
                os.fdopen(os.open(file, fs.READ_FLAGS, dir_fd=fd), "rb") as stream,
            ):
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    return None
                return stream.read(MAX_READ_BYTES + 1)
        except SinkError:
            return None

    def has_entry(self, name: str) -> bool:
        """Return whether there is a file, folder or link with this name."""
        return self._get_mode(name) != 0

    def has_file(self, name: str) -> bool:
        """Return whether there is a regular file with this name, readable or not."""
        return stat.S_ISREG(self._get_mode(name))

    def _get_mode(self, name: str) -> int:
        with suppress(SinkError), self.open_parent(name) as (fd, file):
            return os.stat(file, dir_fd=fd, follow_symlinks=False).st_mode
        return 0

    def remove_file(self, name: str) -> None:
        """Delete the file; do nothing if it cannot be deleted."""
        with suppress(SinkError), self.open_parent(name) as (fd, file):
            os.unlink(file, dir_fd=fd)

    def merge_folder(self, old: str, new: str) -> None:
        """Move the contents of `old` to `new`; remove `old` if it is empty then.

        Files that exist in both folders stay where they are. Errors are ignored.
        """
        with suppress(SinkError):
            with (
                self.open_subfolder(old) as source_fd,
                self.open_subfolder(new, create=True) as target_fd,
            ):
                _merge_contents(source_fd, target_fd)
            with self.open_parent(old) as (fd, name):
                os.rmdir(name, dir_fd=fd)

    @contextmanager
    def open_parent(
        self, name: str, *, create: bool = False
    ) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder that holds a file, and the file's name."""
        folder, slash, file = name.rpartition("/")
        if not folder and slash:
            raise SinkError(f"{name} is not a path below {self.path}.")
        _check_name(file, self.path / name)
        with self.open_subfolder(folder, create=create) as fd:
            yield fd, file

    @contextmanager
    def open_subfolder(self, name: str, *, create: bool = False) -> Iterator[int]:
        """Yield a descriptor of a folder below this one; "" is this folder itself.

        An OSError, also one in the `with` block, is raised as a SinkError.
        """
        fd, path = -1, self.path / name
        try:
            with _raising_sink_errors(self.path):
                fd = os.dup(self.fd)
                for part in name.split("/") if name else ():
                    _check_name(part, path)
                    if create:
                        _make_folder(fd, part)
                    fd = _enter(fd, part, fs.FOLDER_FLAGS, path)
                    _check_owner(path, fd, self.owner)
                yield fd
        finally:
            if fd >= 0:
                os.close(fd)


class FileBatch:
    """New files that replace old ones, each as a whole or not at all.

    A `with` block writes temporary files. At its end, all of them are synced and get
    their names; if it raises, the old files stay. Syncing files one after the other,
    when all are written, takes a fraction of the time.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._parents: dict[tuple[int, str], _Parent] = {}
        """The folders of the new files, by the base's descriptor and the path below."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        try:
            if error_type is None:
                self._commit()
        finally:
            self._discard()

    def add(self, base: Folder, name: str, data: bytes) -> None:
        """Write a temporary file for `base/name`, mode 0600; create missing folders.

        Raise SinkError if that fails. The base must stay open until the batch ends.
        """
        folder, _, file_name = name.rpartition("/")
        if (base.fd, folder) not in self._parents:
            fd, _ = self._stack.enter_context(base.open_parent(name, create=True))
            self._parents[base.fd, folder] = _Parent(base.path, fd)
            _remove_temporary_files(fd)
        parent = self._parents[base.fd, folder]
        with _raising_sink_errors(base.path):
            parent.add(file_name, data)

    def _commit(self) -> None:
        for parent in self._parents.values():
            with _raising_sink_errors(parent.base):
                for file in parent.files:
                    file.sync()
        for parent in self._parents.values():
            with _raising_sink_errors(parent.base):
                parent.commit()

    def _discard(self) -> None:
        """Delete the temporary files that did not get their names."""
        for parent in self._parents.values():
            while parent.files:
                with suppress(OSError):
                    parent.files.pop().__exit__(SinkError)  # as after an error
        self._stack.close()


class _Parent:
    """A folder with new files.

    `base` is the folder above it that the caller opened, for messages.
    """

    def __init__(self, base: Path, fd: int) -> None:
        self.base, self.fd = base, fd
        self.files: list[fs.AtomicFile] = []

    def add(self, name: str, data: bytes) -> None:
        temporary = _name_temporary_file(len(self.files))
        file = fs.AtomicFile(name, dir_fd=self.fd, temporary=temporary, is_synced=False)
        self.files.append(file.__enter__())
        _write_chunks(file, data)

    def commit(self) -> None:
        """Give the files their names, the last one first.

        So the temporary files that a crash leaves are numbered from 0 without gaps.
        """
        while self.files:
            failpoint("write.before")
            self.files.pop().__exit__(None)
            failpoint("write.after")
        os.fsync(self.fd)


def trust_folder(path: Path) -> None:
    """Follow links in the path of this folder from now on.

    Only for leslied's own folder, which the user may have moved and linked.
    """
    _trusted_folders.add(path)


@contextmanager
def open_folder(path: Path, *, owner: int | None = None) -> Iterator[Folder]:
    """Hold the folder at this absolute path open.

    Raise LinkInPathError if the path leads through a link, and SinkError if the folder
    cannot be opened, is not the `owner`'s or is writable by everybody. The last two are
    not checked without an `owner`, or in a trusted folder.
    """
    trusted_folder = _find_trusted_folder(path)
    if trusted_folder != _ROOT:
        owner = None
    fd = _walk(path, trusted_folder)
    try:
        _check_owner(path, fd, owner)
        yield Folder(path, fd, owner)
    finally:
        os.close(fd)


def open_base_folder(base: Path | Folder) -> AbstractContextManager[Folder]:
    """Open the folder that contains `.leslie`; return a Folder (already open) as it is.

    Raise SinkError if it cannot be opened, is not the user's, or anybody may write.
    """
    if isinstance(base, Folder):
        return nullcontext(base)
    return open_folder(base, owner=os.getuid())


@contextmanager
def open_named_folder(path: Path) -> Iterator[Folder]:
    """Hold a folder open that the user named; follow links in its path."""
    try:
        fd = os.open(path, fs.FOLDER_FLAGS & ~os.O_NOFOLLOW)
    except (OSError, ValueError) as error:
        raise SinkError(f"{path} cannot be opened: {_get_reason(error)}") from error
    try:
        yield Folder(path, fd)
    finally:
        os.close(fd)


def find_fault(status: os.stat_result, owner: int) -> str:
    """Return why a folder with this status must not be written to, or ""."""
    if status.st_uid != owner:
        return "not owned by you"
    return "writable by everybody" if status.st_mode & stat.S_IWOTH else ""


def _find_trusted_folder(path: Path) -> Path:
    """Return the folder below which no link is followed: the root, or leslied's own."""
    return max(
        (folder for folder in _trusted_folders if path.is_relative_to(folder)),
        key=lambda folder: len(folder.parts),
        default=_ROOT,
    )


def _walk(path: Path, trusted_folder: Path) -> int:
    """Return a descriptor of `path`; follow no link below the trusted folder."""
    fd = -1
    try:
        names = path.relative_to(trusted_folder).parts
        fd = os.open(trusted_folder, _TRUSTED_FLAGS)
        for name in names:
            _check_name(name, path)
            fd = _enter(fd, name, fs.TRAVERSAL_FLAGS, path)
        return os.open(".", fs.FOLDER_FLAGS, dir_fd=fd)  # unlike `fd`, for reading
    except (OSError, ValueError) as error:
        raise SinkError(f"{path} cannot be opened: {_get_reason(error)}") from error
    finally:
        if fd >= 0:
            os.close(fd)


def _check_name(name: str, path: Path) -> None:
    """Raise SinkError if a part of the path is not the name of a file or folder."""
    if name in ("", ".", ".."):
        raise SinkError(f"{path} is not a valid path: it contains {name!r}.")


def _enter(fd: int, name: str, flags: int, path: Path) -> int:
    """Open the folder `name` in the folder `fd`; close `fd` unless that fails.

    `path` is for messages.
    """
    try:
        child_fd = os.open(name, flags, dir_fd=fd)
    except OSError as error:
        with suppress(OSError):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                raise LinkInPathError(
                    f"{path} leads through a symbolic link: {name}"
                ) from error
        raise
    os.close(fd)
    return child_fd


def _make_folder(fd: int, name: str) -> None:
    """Create a private folder in the folder `fd` if there is none."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=fd)


def _check_owner(path: Path, fd: int, owner: int | None) -> None:
    """Raise SinkError if another user owns the folder, or everybody may write to it."""
    fault = "" if owner is None else find_fault(os.fstat(fd), owner)
    if fault:
        raise SinkError(f"{path} cannot be written: it is {fault}.")


def _get_reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or str(error)


def _write_chunks(file: fs.AtomicFile, data: bytes) -> None:
    for start in range(0, len(data), _CHUNK_BYTES):
        file.write(data[start : start + _CHUNK_BYTES])
        failpoint("write.half")


def _name_temporary_file(number: int) -> str:
    return f"{_TEMPORARY_NAME}-{number}" if number else _TEMPORARY_NAME


def _remove_temporary_files(fd: int) -> None:
    """Delete temporary files that a crash left; their names are numbered from 0."""
    with suppress(OSError):
        for number in count():
            os.unlink(_name_temporary_file(number), dir_fd=fd)


@contextmanager
def _raising_sink_errors(path: Path) -> Iterator[None]:
    """Raise an OSError or ValueError as a SinkError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise SinkError(f"{path} cannot be written: {_get_reason(error)}") from error


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
