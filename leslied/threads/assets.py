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

from leslied.threads.layout import ASSET_PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_FILES = 500
"""So many files of one folder are looked at."""
MOST_BYTES = 32 * 1024 * 1024
"""A larger file is listed without a hash."""
_MOST_COUNTED = 5000
_WRITTEN = tuple(each for each in ASSET_PLACES if each[0] != "transcript")
_DEEPEST = 4
_HEAD = 64 * 1024
_PIECE = 256 * 1024
_LONGEST_TITLE = 120
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)[ \t#]*")
_FENCE = re.compile(r"[ ]{0,3}(```|~~~)")
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)

Stamp = tuple[int, int, int, int]
"""Size, change times and number of a file: equal while nobody wrote to it."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that belongs to an asset."""

    path: str
    """Below the folder that holds `.leslie`."""
    stamp: Stamp

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stamp[0]

    @property
    def updated_at(self) -> datetime:
        """When it was last written."""
        return datetime.fromtimestamp(self.stamp[1] / 1e9, UTC)

    @property
    def day(self) -> str:
        """The day it was last written, as names carry it."""
        return self.updated_at.astimezone().strftime("%Y%m%d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An asset that is there."""

    type: str
    place: str
    """Below the thread's folder."""
    path: str
    """Below the folder that holds `.leslie`."""
    is_folder: bool
    files: tuple[FoundFile, ...]
    left_out: int = 0
    """Files beyond the limit."""


@dataclass(frozen=True, slots=True)
class Described:
    """What a file's bytes tell."""

    sha256: str
    """Empty for a file that is too large, or changed while it was read."""
    title: str


def find_assets(
    base: Path, thread_id: str, *, has_transcripts: bool = True
) -> list[Found]:
    """The assets of a thread, in listing order; without the thread's folder, none."""
    folder = f".leslie/threads/{thread_id}"
    places = ASSET_PLACES if has_transcripts else _WRITTEN
    try:
        with _open_below(base, folder, _FOLDER) as fd:
            names = set(os.listdir(fd))  # noqa: PTH208 - a descriptor
            found = [
                _find(fd, kind, place, folder)
                for kind, place in places
                if place.partition("/")[0] in names
            ]
    except OSError:
        return []
    return [asset for asset in found if asset]


def list_names(base: Path, thread_id: str) -> list[str]:
    """All names in the thread's folder."""
    try:
        with _open_below(base, f".leslie/threads/{thread_id}", _FOLDER) as fd:
            return sorted(os.listdir(fd))  # noqa: PTH208 - a descriptor
    except OSError:
        return []


def has_folder(base: Path, thread_id: str) -> bool:
    """Whether the thread has a folder there."""
    try:
        with _open_below(base, f".leslie/threads/{thread_id}", _FOLDER):
            return True
    except OSError:
        return False


def stamp_assets(found: list[Found]) -> bytes:
    """Changes whenever an asset that agents or people write does."""
    digest = hashlib.blake2b(digest_size=16)
    for asset in found:
        if asset.type != "transcript":
            told = [asset.path, *((file.path, file.stamp) for file in asset.files)]
            digest.update(repr(told).encode(errors="surrogatepass"))
    return digest.digest()


def stamp_file(base: Path, path: str) -> Stamp | None:
    """The stamp of a plain file below the folder; None where there is no such file."""
    try:
        with _open_below(base, path, _FILE) as fd:
            status = os.fstat(fd)
    except OSError:
        return None
    return stamp_of(status) if stat.S_ISREG(status.st_mode) else None


def describe(base: Path, file: FoundFile) -> Described:
    """The file's hash and title; both from the same bytes, or no hash."""
    name = file.path.rpartition("/")[2]
    try:
        with _open_below(base, file.path, _FILE) as fd:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                return Described("", name)
            digest, head = _read(fd)
            is_same = stamp_of(os.fstat(fd)) == stamp_of(before) == file.stamp
    except OSError:
        return Described("", name)
    is_whole = is_same and before.st_size <= MOST_BYTES
    title = find_title(head.decode(errors="replace")) or name
    return Described(digest if is_whole else "", title)


def read_text(base: Path, path: str, most: int) -> str | None:
    """The text of a plain file below the folder; None where there is no such file."""
    try:
        with _open_below(base, path, _FILE) as fd:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            with os.fdopen(os.dup(fd), "rb") as stream:
                return stream.read(most).decode(errors="replace")
    except OSError:
        return None


def find_title(text: str) -> str:
    """The first heading outside a code block; empty where there is none."""
    is_code = False
    for line in text.removeprefix("\ufeff").split("\n"):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and (heading := _HEADING.fullmatch(line.rstrip("\r"))):
            title = _UNSEEN.sub(" ", heading[1]).strip()
            if title:
                return shorten(title)
    return ""


def shorten(title: str) -> str:
    """A title as lists can show it."""
    if len(title) <= _LONGEST_TITLE:
        return title
    return title[: _LONGEST_TITLE - 1] + "…"


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells that a file was written to."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _read(fd: int) -> tuple[str, bytes]:
    digest, head, left = hashlib.sha256(), b"", MOST_BYTES
    while left > 0 and (piece := os.read(fd, min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
        head += piece[: _HEAD - len(head)] if len(head) < _HEAD else b""
    return digest.hexdigest(), head


def _find(thread: int, kind: str, place: str, folder: str) -> Found | None:
    path = f"{folder}/{place}"
    is_folder = not place.endswith(".md")
    try:
        with _step_down(os.dup(thread), place, _FOLDER if is_folder else _FILE) as fd:
            if is_folder:
                files = list(islice(_walk(fd, path, _DEEPEST), _MOST_COUNTED))
            else:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    return None
                files = [FoundFile(path, stamp_of(status))]
    except OSError:
        return None
    return Found(
        type=kind,
        place=place,
        path=path,
        is_folder=is_folder,
        files=tuple(files[:MOST_FILES]),
        left_out=max(len(files) - MOST_FILES, 0),
    )


def _walk(fd: int, path: str, depth: int) -> Iterator[FoundFile]:
    for name in sorted(os.listdir(fd)):
        if name.startswith("."):
            continue
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                yield FoundFile(f"{path}/{name}", stamp_of(status))
            elif stat.S_ISDIR(status.st_mode) and depth > 1:
                below = os.open(name, _FOLDER, dir_fd=fd)
                try:
                    yield from _walk(below, f"{path}/{name}", depth - 1)
                finally:
                    os.close(below)
        except OSError:
            continue


@contextmanager
def _open_below(base: Path, path: str, flags: int) -> Iterator[int]:
    """A descriptor of what stands there, reached through plain folders alone."""
    with _step_down(os.open(base, _FOLDER), path, flags) as fd:
        yield fd


@contextmanager
def _step_down(fd: int, path: str, flags: int) -> Iterator[int]:
    """The same, from a descriptor on, which is closed."""
    *folders, name = path.split("/")
    try:
        for folder, how in (*((each, _FOLDER) for each in folders), (name, flags)):
            below = os.open(folder, how, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)
