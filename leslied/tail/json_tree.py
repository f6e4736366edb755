"""Read sessions stored as a tree of small JSON files.

The source is the session's own file. Its messages are files in a folder named after the
session, and the parts of each message are files in a folder named after the message.
An entry is a message file together with its parts, so that it is complete no matter
which file changed last.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from leslied.errors import SourceError
from leslied.fs import FOLDER_FLAGS
from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.files import open_inside, open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

_SUFFIX = ".json"
_MESSAGES, _PARTS = 0, 1
"""Indexes of the folders of messages and parts in `SourceRef.child_folders`."""
_REREAD_FILES = 1
"""Message files before the newest of the last read that are read again, too."""


def stamp_tree(
    path: Path, child_folders: tuple[str, ...], stamp: FileStamp
) -> FileStamp:
    """Return the stamp of a session's file, its folder, and its newest message.

    Files are overwritten in place, which does not change their folder's mtime; only
    the newest message still changes.
    """
    folder = _get_folder(path.parent, child_folders, _MESSAGES, path.stem)
    top = _find_top(path.parent, child_folders)
    newest = max(_list_names(folder, top), default="")
    parts_folder = _get_folder(path.parent, child_folders, _PARTS, newest)
    for changing_path in (folder, folder / (newest + _SUFFIX), parts_folder):
        try:
            status = changing_path.stat()
        except OSError:
            continue
        stamp = stamp._replace(
            size=stamp.size + status.st_size,
            mtime_ns=max(stamp.mtime_ns, status.st_mtime_ns),
            ctime_ns=max(stamp.ctime_ns, status.st_ctime_ns),
        )
    return stamp


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the session's file, then all messages since the last read.

    The newest messages of the last read are repeated, because they may have changed.

    Raise SourceError if the session's file is missing or too large.
    """
    session_json = _load_json(source.path, source.root, limits)
    base, child_folders = source.path.parent, source.child_folders
    top = _find_top(base, child_folders)
    folder = _get_folder(base, child_folders, _MESSAGES, source.path.stem)
    names = sorted(_list_names(folder, top))
    # The cursor's anchor is the name of the newest message of the last read, or empty.
    start = max(bisect_left(names, cursor.anchor.decode()) - _REREAD_FILES, 0)
    entries = [b'{"top":%b}' % session_json]
    for name in names[start:]:
        parts_folder = _get_folder(base, child_folders, _PARTS, name)
        message_json = _load_json_or_error(folder, name, top, limits)
        parts_json = _load_parts(parts_folder, top, limits)
        entries.append(
            b'{"top":%b,"name":%b,"file":%b,"below":[%b]}'
            % (session_json, _encode_text(name), message_json, parts_json)
        )
        if sum(map(len, entries)) >= limits.chunk:
            cursor = replace(cursor, anchor=name.encode(), stamp=None)
            chunk = _make_chunk(source, cursor, entries)
            cursor, entries = chunk.cursor, []
            yield chunk
    newest = names[-1].encode() if names else b""
    cursor = replace(cursor, anchor=newest, stamp=source.stamp)
    yield _make_chunk(source, cursor, entries)


def _make_chunk(source: SourceRef, cursor: Cursor, entries: list[bytes]) -> Chunk:
    """Return the entries as a chunk; the offset of a tree is a count of entries."""
    return Chunk(
        entries=tuple(
            RawEntry(source, offset, data)
            for offset, data in enumerate(entries, cursor.offset)
        ),
        cursor=replace(cursor, offset=cursor.offset + len(entries)),
        bytes_read=sum(map(len, entries)),
    )


def _load_parts(folder: Path, top: Path, limits: ReadLimits) -> bytes:
    """Return the parts of a message as JSON objects, separated by commas."""
    return b",".join(
        b'{"name":%b,"file":%b}'
        % (_encode_text(part), _load_json_or_error(folder, part, top, limits))
        for part in sorted(_list_names(folder, top))
    )


def _get_folder(
    base: Path, child_folders: tuple[str, ...], level: int, name: str
) -> Path:
    """Return the folder of the messages or parts of the file with this stem."""
    return Path(os.path.normpath(base / child_folders[level].format(name)))


def _find_top(base: Path, child_folders: tuple[str, ...]) -> Path:
    """Return the folder that holds all files of the tree; no link leads out of it."""
    folders = [os.path.normpath(base / folder) for folder in child_folders]
    return Path(os.path.commonpath([base, *folders]))


def _list_names(folder: Path, top: Path) -> list[str]:
    """Return the names of the folder's JSON files, without their suffix.

    Skip names that are not ASCII: agents do not write them. A missing folder is empty.
    """
    try:
        fd = open_inside(folder, top, FOLDER_FLAGS)
    except (OSError, ValueError):
        return []
    try:
        names = [name for name in os.listdir(fd) if name.endswith(_SUFFIX)]  # noqa: PTH208
    finally:
        os.close(fd)
    return [name.removesuffix(_SUFFIX) for name in names if name.isascii()]


def _load_json_or_error(
    folder: Path, name: str, top: Path, limits: ReadLimits
) -> bytes:
    """Return a file's JSON, or the error as a JSON string if it cannot be read."""
    try:
        return _load_json(folder / (name + _SUFFIX), top, limits)
    except SourceError as error:
        return _encode_text(error.message)


def _load_json(path: Path, root: Path, limits: ReadLimits) -> bytes:
    """Return a file's JSON, or the text of invalid JSON as a JSON string.

    An entry that contains the result is therefore always valid JSON. Raise SourceError
    if the file cannot be read or is too large.
    """
    with open_regular(path, root) as fd:
        size = os.fstat(fd).st_size
        if size > limits.line:
            raise SourceError(f"is {size} bytes, too large for a document")
        data = read_at(fd, size, 0)
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return _encode_text(data.decode(errors="replace"))
    return data


def _encode_text(text: str) -> bytes:
    return msgspec.json.encode(text)
