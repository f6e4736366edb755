"""Finding and describing the assets in a thread's folder.

Folders are walked by descriptor, and nothing is followed that is not a plain file or a
folder: whoever writes there is a stranger.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from leslied.threads.layout import ASSET_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_FILES = 500
"""So many files of one folder are looked at."""
MAX_HASHED_BYTES = 32 * 1024 * 1024
"""A larger file is listed without a hash."""
_MAX_COUNTED = 5000
_AUTHORED_PATHS = tuple(each for each in ASSET_PATHS if each[0] != "transcript")
_MAX_DEPTH = 4
_HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 256 * 1024
_MAX_TITLE_CHARACTERS = 120
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)[ \t#]*")
_FENCE = re.compile(r"[ ]{0,3}(```|~~~)")
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)

AssetStamp = tuple[int, int, int, int]
"""Size, change times and number of a file: equal while nobody wrote to it."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file that belongs to an asset."""

    path: str
    """Below the folder that holds `.leslie`."""
    stamp: AssetStamp

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stamp[0]

    @property
    def updated_at(self) -> datetime:
        """When it was last written."""
        return datetime.fromtimestamp(self.stamp[1] / 1e9, UTC)

    @property
    def updated_day(self) -> str:
        """The day it was last written, as names carry it."""
        return self.updated_at.astimezone().strftime("%Y%m%d")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedAsset:
    """An asset that is there."""

    type: str
    relative_path: str
    """Below the thread's folder."""
    path: str
    """Below the folder that holds `.leslie`."""
    is_folder: bool
    files: tuple[ScannedFile, ...]
    omitted_files: int = 0
    """Files beyond the limit."""


@dataclass(frozen=True, slots=True)
class FileDescription:
    """What a file's bytes tell."""

    sha256: str
    """Empty for a file that is too large, or changed while it was read."""
    title: str


def find_assets(
    base: Path, thread_id: str, *, include_transcripts: bool = True
) -> list[ScannedAsset]:
    """The assets of a thread, in listing order; without the thread's folder, none."""
    folder = f".leslie/threads/{thread_id}"
    places = ASSET_PATHS if include_transcripts else _AUTHORED_PATHS
    try:
        with _open_below(base, folder, _FOLDER_FLAGS) as fd:
            names = set(os.listdir(fd))  # noqa: PTH208 - a descriptor
            found = [
                _scan_asset(fd, kind, place, folder)
                for kind, place in places
                if place.partition("/")[0] in names
            ]
    except OSError:
        return []
    return [asset for asset in found if asset]


def list_names(base: Path, thread_id: str) -> list[str]:
    """All names in the thread's folder."""
    try:
        with _open_below(base, f".leslie/threads/{thread_id}", _FOLDER_FLAGS) as fd:
            return sorted(os.listdir(fd))  # noqa: PTH208 - a descriptor
    except OSError:
        return []


def has_thread_folder(base: Path, thread_id: str) -> bool:
    """Whether the thread has a folder there."""
    try:
        with _open_below(base, f".leslie/threads/{thread_id}", _FOLDER_FLAGS):
            return True
    except OSError:
        return False


def stamp_assets(assets: list[ScannedAsset]) -> bytes:
    """Changes whenever an asset that agents or people write does."""
    digest = hashlib.blake2b(digest_size=16)
    for asset in assets:
        if asset.type != "transcript":
            told = [asset.path, *((file.path, file.stamp) for file in asset.files)]
            digest.update(repr(told).encode(errors="surrogatepass"))
    return digest.digest()


def stamp_file(base: Path, path: str) -> AssetStamp | None:
    """The stamp of a plain file below the folder; None where there is no such file."""
    try:
        with _open_below(base, path, _FILE_FLAGS) as fd:
            status = os.fstat(fd)
    except OSError:
        return None
    return make_stamp(status) if stat.S_ISREG(status.st_mode) else None


def describe_file(base: Path, file: ScannedFile) -> FileDescription:
    """The file's hash and title; both from the same bytes, or no hash."""
    name = file.path.rpartition("/")[2]
    try:
        with _open_below(base, file.path, _FILE_FLAGS) as fd:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return FileDescription("", name)
            digest, head = _hash_and_read_head(fd)
            is_same = make_stamp(os.fstat(fd)) == make_stamp(before) == file.stamp
    except OSError:
        return FileDescription("", name)
    is_whole = is_same and before.st_size <= MAX_HASHED_BYTES
    title = find_title(head.decode(errors="replace")) or name
    return FileDescription(digest if is_whole else "", title)


def read_text(base: Path, path: str, limit: int) -> str | None:
    """The text of a plain file below the folder; None where there is no such file."""
    try:
        with _open_below(base, path, _FILE_FLAGS) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            with os.fdopen(os.dup(fd), "rb") as stream:
                return stream.read(limit).decode(errors="replace")
    except OSError:
        return None


def find_title(text: str) -> str:
    """The first heading outside a code block; empty where there is none."""
    is_code = False
    for line in text.removeprefix("\ufeff").split("\n"):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and (heading := _HEADING.fullmatch(line.rstrip("\r"))):
            title = _INVISIBLE.sub(" ", heading[1]).strip()
            if title:
                return truncate_title(title)
    return ""


def truncate_title(title: str) -> str:
    """A title as lists can show it."""
    if len(title) <= _MAX_TITLE_CHARACTERS:
        return title
    return title[: _MAX_TITLE_CHARACTERS - 1] + "…"


def make_stamp(status: os.stat_result) -> AssetStamp:
    """What tells that a file was written to."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _hash_and_read_head(fd: int) -> tuple[str, bytes]:
    digest, head, left = hashlib.sha256(), b"", MAX_HASHED_BYTES
    while left > 0 and (piece := os.read(fd, min(_CHUNK_BYTES, left))):
        digest.update(piece)
        left -= len(piece)
        head += piece[: _HEAD_BYTES - len(head)] if len(head) < _HEAD_BYTES else b""
    return digest.hexdigest(), head


def _scan_asset(
    thread: int, kind: str, relative_path: str, folder: str
) -> ScannedAsset | None:
    path = f"{folder}/{relative_path}"
    is_folder = not relative_path.endswith(".md")
    try:
        with _open_from(
            os.dup(thread), relative_path, _FOLDER_FLAGS if is_folder else _FILE_FLAGS
        ) as fd:
            if is_folder:
                files = list(islice(_scan_folder(fd, path, _MAX_DEPTH), _MAX_COUNTED))
            else:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    return None
                files = [ScannedFile(path, make_stamp(status))]
    except OSError:
        return None
    return ScannedAsset(
        type=kind,
        relative_path=relative_path,
        path=path,
        is_folder=is_folder,
        files=tuple(files[:MAX_FILES]),
        omitted_files=max(len(files) - MAX_FILES, 0),
    )


def _scan_folder(fd: int, path: str, depth: int) -> Iterator[ScannedFile]:
    for name in sorted(os.listdir(fd)):
        if name.startswith("."):
            continue
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                yield ScannedFile(f"{path}/{name}", make_stamp(status))
            elif stat.S_ISDIR(status.st_mode) and depth > 1:
                below = os.open(name, _FOLDER_FLAGS, dir_fd=fd)
                try:
                    yield from _scan_folder(below, f"{path}/{name}", depth - 1)
                finally:
                    os.close(below)
        except OSError:
            continue


@contextmanager
def _open_below(base: Path, path: str, flags: int) -> Iterator[int]:
    """A descriptor of what stands there, reached through plain folders alone."""
    with _open_from(os.open(base, _FOLDER_FLAGS), path, flags) as fd:
        yield fd


@contextmanager
def _open_from(fd: int, path: str, flags: int) -> Iterator[int]:
    """The same, from a descriptor on, which is closed."""
    *folders, name = path.split("/")
    try:
        for folder, how in (
            *((each, _FOLDER_FLAGS) for each in folders),
            (name, flags),
        ):
            below = os.open(folder, how, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)
