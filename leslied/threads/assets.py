"""Finding and describing the assets in a thread's folder.

`base` is always the folder that holds `.leslie`. The contents of a thread's folder are
untrusted: everything is opened by descriptor, and only regular files and folders are
read, never symbolic links.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.control_characters import format_one_line
from leslied.fs import FOLDER_FLAGS, READ_FLAGS, open_below
from leslied.graphemes import ellipsize
from leslied.layout import ASSET_PATHS, assets_file, thread_folder
from leslied.model.times import from_ns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

MAX_FILES = 500
"""Maximum number of files listed for one asset folder."""
MAX_HASHED_BYTES = 32 * 1024 * 1024
"""A larger file is listed without a hash."""
_MAX_COUNTED_FILES = 5000
"""Maximum number of files counted in one asset folder."""
_PATHS_WITHOUT_TRANSCRIPTS = tuple(
    (asset_type, path) for asset_type, path in ASSET_PATHS if asset_type != "transcript"
)
_MAX_DEPTH = 4
"""Number of levels of folders that are searched for the files of an asset."""
_HEAD_BYTES = 64 * 1024
"""Length of the start of a file that is searched for a title."""
_CHUNK_BYTES = 256 * 1024
_MAX_TITLE_CHARACTERS = 120
_HEADING_OR_FENCE = re.compile(
    r"^[ ]{0,3}(?:(?P<fence>```|~~~)|#{1,6}[ \t]+(?P<heading>.*))", re.MULTILINE
)

AssetStamp = tuple[int, int, int, int]
"""Size, mtime, ctime and inode of a file: equal while the file is unchanged."""


class ScannedFile(Struct, frozen=True):
    """A file that belongs to an asset."""

    path: str
    """Path below the folder that holds `.leslie`."""
    stamp: AssetStamp

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.stamp[0]

    @property
    def updated_at(self) -> datetime:
        """Time of the last write."""
        return from_ns(self.stamp[1])

    @property
    def updated_day(self) -> str:
        """Local day of the last write, in the form that asset names use."""
        return self.updated_at.astimezone().strftime("%Y%m%d")


class ScannedAsset(Struct, frozen=True, kw_only=True):
    """An asset that exists in a thread's folder."""

    type: str
    relative_path: str
    """Path below the thread's folder."""
    path: str
    """Path below the folder that holds `.leslie`."""
    is_folder: bool
    files: tuple[ScannedFile, ...]
    omitted_files: int = 0
    """Number of files in the folder beyond `MAX_FILES`."""


class FileDescription(Struct, frozen=True):
    """Hash and title of a file."""

    sha256: str
    """Empty if the file is too large or changed during reading."""
    title: str


def find_assets(
    base: Path, thread_id: str, *, include_transcripts: bool = True
) -> list[ScannedAsset]:
    """Return the thread's assets in listing order; none if it has no folder."""
    folder = thread_folder(thread_id)
    paths = ASSET_PATHS if include_transcripts else _PATHS_WITHOUT_TRANSCRIPTS
    try:
        with _hold_open_in(base, folder, FOLDER_FLAGS) as fd:
            names = set(os.listdir(fd))  # noqa: PTH208 - a descriptor
            assets = [
                _scan_asset(fd, asset_type, path, folder)
                for asset_type, path in paths
                if path.partition("/")[0] in names
            ]
    except OSError:
        return []
    return [asset for asset in assets if asset]


def list_names(base: Path, thread_id: str) -> list[str]:
    """Return all names in the thread's folder; none if it has no folder."""
    try:
        with _hold_open_in(base, thread_folder(thread_id), FOLDER_FLAGS) as fd:
            return sorted(os.listdir(fd))  # noqa: PTH208 - a descriptor
    except OSError:
        return []


def has_thread_folder(base: Path, thread_id: str) -> bool:
    """Return whether the thread has a folder in this project."""
    try:
        with _hold_open_in(base, thread_folder(thread_id), FOLDER_FLAGS):
            return True
    except OSError:
        return False


def compute_thread_stamp(bases: Sequence[Path], thread_id: str) -> bytes:
    """Return a stamp that changes when an asset or the thread's index file changes.

    The thread may have assets in several folders; the first one has the index file.
    """
    index = read_stamp(bases[0], assets_file(thread_id))
    assets = [
        asset
        for base in bases
        for asset in find_assets(base, thread_id, include_transcripts=False)
    ]
    return compute_assets_digest(assets) + repr(index).encode()


def compute_assets_digest(assets: list[ScannedAsset]) -> bytes:
    """Return a digest that changes with any asset other than a transcript."""
    digest = hashlib.blake2b(digest_size=16)
    for asset in assets:
        if asset.type != "transcript":
            state = [asset.path, *((file.path, file.stamp) for file in asset.files)]
            digest.update(repr(state).encode(errors="surrogatepass"))
    return digest.digest()


def read_stamp(base: Path, path: str) -> AssetStamp | None:
    """Return the stamp of a regular file below `base`; None if there is none."""
    try:
        with _hold_open_in(base, path, READ_FLAGS) as fd:
            status = os.fstat(fd)
    except OSError:
        return None
    return make_stamp(status) if stat.S_ISREG(status.st_mode) else None


def describe_file(base: Path, file: ScannedFile) -> FileDescription:
    """Return the file's hash and title.

    The hash is empty if the file is too large or changed since it was scanned.
    """
    name = file.path.rpartition("/")[2]
    try:
        with _hold_open_in(base, file.path, READ_FLAGS) as fd:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return FileDescription("", name)
            digest, head = _hash_and_read_head(fd)
            is_unchanged = make_stamp(os.fstat(fd)) == make_stamp(before) == file.stamp
    except OSError:
        return FileDescription("", name)
    is_hash_valid = is_unchanged and before.st_size <= MAX_HASHED_BYTES
    title = find_title(head.decode(errors="replace")) or name
    return FileDescription(digest if is_hash_valid else "", title)


def read_text(base: Path, path: str, limit: int) -> str | None:
    """Return the first `limit` bytes as text; None if this is not a regular file."""
    try:
        with _hold_open_in(base, path, READ_FLAGS) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            with os.fdopen(os.dup(fd), "rb") as stream:
                return stream.read(limit).decode(errors="replace")
    except OSError:
        return None


def find_title(text: str) -> str:
    """Return the first heading outside a code block; empty if there is none."""
    is_in_code_block = False
    for match in _HEADING_OR_FENCE.finditer(text.removeprefix("\ufeff")):
        if match["fence"]:
            is_in_code_block = not is_in_code_block
        elif not is_in_code_block:
            title = format_one_line(match["heading"].rstrip("\r").rstrip(" \t#"))
            if title:
                return truncate_title(title)
    return ""


def truncate_title(title: str) -> str:
    """Return the title, with an ellipsis at the end if it had to be shortened."""
    return ellipsize(title, _MAX_TITLE_CHARACTERS)


def make_stamp(status: os.stat_result) -> AssetStamp:
    """Return the stamp of a file with this status."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _hash_and_read_head(fd: int) -> tuple[str, bytes]:
    """Return the hash of at most `MAX_HASHED_BYTES`, and the first `_HEAD_BYTES`."""
    digest, head, remaining = hashlib.sha256(), b"", MAX_HASHED_BYTES
    while remaining > 0 and (chunk := os.read(fd, min(_CHUNK_BYTES, remaining))):
        digest.update(chunk)
        remaining -= len(chunk)
        head += chunk[: _HEAD_BYTES - len(head)]
    return digest.hexdigest(), head


def _scan_asset(
    thread_fd: int, asset_type: str, relative_path: str, folder: str
) -> ScannedAsset | None:
    """Return the asset with its files; None if it does not exist in the expected form.

    `thread_fd` is a descriptor of the thread's folder, `folder` its path.
    """
    path = f"{folder}/{relative_path}"
    is_folder = not relative_path.endswith(".md")
    try:
        with _hold_open(
            thread_fd, relative_path, FOLDER_FLAGS if is_folder else READ_FLAGS
        ) as fd:
            if is_folder:
                files = list(
                    islice(_scan_folder(fd, path, _MAX_DEPTH), _MAX_COUNTED_FILES)
                )
            else:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    return None
                files = [ScannedFile(path, make_stamp(status))]
    except OSError:
        return None
    return ScannedAsset(
        type=asset_type,
        relative_path=relative_path,
        path=path,
        is_folder=is_folder,
        files=tuple(files[:MAX_FILES]),
        omitted_files=max(len(files) - MAX_FILES, 0),
    )


def _scan_folder(fd: int, path: str, depth: int) -> Iterator[ScannedFile]:
    """Yield the files of a folder and its subfolders, `depth` levels in all.

    Hidden names are omitted.
    """
    for name in sorted(os.listdir(fd)):
        if name.startswith("."):
            continue
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                yield ScannedFile(f"{path}/{name}", make_stamp(status))
            elif stat.S_ISDIR(status.st_mode) and depth > 1:
                child_fd = os.open(name, FOLDER_FLAGS, dir_fd=fd)
                try:
                    yield from _scan_folder(child_fd, f"{path}/{name}", depth - 1)
                finally:
                    os.close(child_fd)
        except OSError:
            continue


@contextmanager
def _hold_open_in(base: Path, path: str, flags: int) -> Iterator[int]:
    """Yield a descriptor of a path below `base`; do not follow symbolic links."""
    base_fd = os.open(base, FOLDER_FLAGS)
    try:
        with _hold_open(base_fd, path, flags) as fd:
            yield fd
    finally:
        os.close(base_fd)


@contextmanager
def _hold_open(folder_fd: int, path: str, flags: int) -> Iterator[int]:
    """Yield a descriptor of a path below a folder; do not follow symbolic links."""
    fd = open_below(folder_fd, path, flags)
    try:
        yield fd
    finally:
        os.close(fd)
