"""Read small JSON files and the folders that contain them, following no links.

For the readers of sources that consist of many files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from leslied.errors import SourceError
from leslied.fs import FOLDER_FLAGS
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.files import open_inside, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from leslied.model.source import FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

SUFFIX = ".json"


@dataclass(slots=True)
class EntryBuffer:
    """Entries of a source that are not in a chunk yet."""

    source: SourceRef
    limits: ReadLimits
    cursor: Cursor
    entries: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, entry: bytes) -> None:
        """Add an entry."""
        self.entries.append(entry)
        self.size += len(entry)

    def is_full(self) -> bool:
        """Return whether there are enough entries for a chunk."""
        return (
            self.size >= self.limits.chunk or len(self.entries) >= self.limits.entries
        )

    def make_chunk(self, position: object, stamp: FileStamp | None = None) -> Chunk:
        """Return the entries since the last chunk, with a cursor after them.

        The cursor's `offset` counts the entries, and its `anchor` is the position.
        """
        start, entries = self.cursor.offset, self.entries
        self.cursor = replace(
            self.cursor,
            offset=start + len(entries),
            anchor=msgspec.json.encode(position),
            stamp=stamp,
        )
        bytes_read, self.entries, self.size = self.size, [], 0
        return Chunk(
            entries=tuple(
                RawEntry(self.source, offset, data)
                for offset, data in enumerate(entries, start)
            ),
            cursor=self.cursor,
            bytes_read=bytes_read,
        )


def list_names(folder: Path, top: Path, suffix: str = "") -> list[str]:
    """Return the names in a folder that have the suffix, without it.

    Skip names that are not ASCII: agents do not write them. A folder that does not
    exist, or that is not below `top`, counts as empty.
    """
    try:
        fd = open_inside(folder, top, FOLDER_FLAGS)
    except (OSError, ValueError):
        return []
    try:
        names = [name for name in os.listdir(fd) if name.endswith(suffix)]  # noqa: PTH208
    finally:
        os.close(fd)
    return [name.removesuffix(suffix) for name in names if name.isascii()]


def load_json_or_error(path: Path, top: Path, limits: ReadLimits) -> bytes:
    """Return a file's JSON, or the error as a JSON string if it cannot be read."""
    try:
        return load_json(path, top, limits)
    except SourceError as error:
        return encode_text(error.message)


def load_json(path: Path, top: Path, limits: ReadLimits) -> bytes:
    """Return a file's JSON, or the text of invalid JSON as a JSON string.

    An entry that contains the result is therefore always valid JSON, and a result that
    begins with a brace is a complete object. Raise SourceError if the file cannot be
    read or is too large.
    """
    with open_regular(path, top) as fd:
        size = os.fstat(fd).st_size
        if size > limits.line:
            raise SourceError(f"is {size} bytes, too large for a document")
        data = read_at(fd, size, 0).strip()
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return encode_text(data.decode(errors="replace"))
    return data


def encode_text(text: str) -> bytes:
    """Return a text as JSON."""
    return msgspec.json.encode(text)


def add_to_stamp(stamp: FileStamp, paths: Iterable[Path]) -> FileStamp:
    """Return the stamp of a file together with other files and folders that exist."""
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        stamp = stamp._replace(
            size=stamp.size + status.st_size,
            mtime_ns=max(stamp.mtime_ns, status.st_mtime_ns),
            ctime_ns=max(stamp.ctime_ns, status.st_ctime_ns),
        )
    return stamp
