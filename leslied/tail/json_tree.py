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

from leslied.model.source import Chunk, Cursor, RawEntry
from leslied.tail.json_files import (
    SUFFIX,
    add_to_stamp,
    encode_text,
    list_names,
    load_json,
    load_json_or_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

_MESSAGES, _PARTS = 0, 1
"""Indexes of the folders of messages and parts in `SourceRef.child_folders`."""
_REREAD_FILES = 1
"""How many message files are read again before the newest one of the last read."""


def stamp_tree(
    path: Path, child_folders: tuple[str, ...], stamp: FileStamp
) -> FileStamp:
    """Return the stamp of a session's file, its folder, and its newest message.

    Files are overwritten in place, which does not change their folder's mtime; only
    the newest message still changes.
    """
    folder = _get_folder(path.parent, child_folders, _MESSAGES, path.stem)
    top = _find_top(path.parent, child_folders)
    newest = max(list_names(folder, top, SUFFIX), default="")
    parts_folder = _get_folder(path.parent, child_folders, _PARTS, newest)
    changing_paths = (folder, folder / (newest + SUFFIX), parts_folder)
    return add_to_stamp(stamp, changing_paths)


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the session's file, then all messages since the last read.

    The newest messages of the last read are repeated, because they may have changed.

    Raise SourceError if the session's file is missing or too large.
    """
    session_json = load_json(source.path, source.root, limits)
    base, child_folders = source.path.parent, source.child_folders
    top = _find_top(base, child_folders)
    folder = _get_folder(base, child_folders, _MESSAGES, source.path.stem)
    names = sorted(list_names(folder, top, SUFFIX))
    # The cursor's anchor is the name of the newest message of the last read, or empty.
    start = max(bisect_left(names, cursor.anchor.decode()) - _REREAD_FILES, 0)
    entries = [b'{"top":%b}' % session_json]
    for name in names[start:]:
        parts_folder = _get_folder(base, child_folders, _PARTS, name)
        message_json = load_json_or_error(folder / (name + SUFFIX), top, limits)
        parts_json = _load_parts(parts_folder, top, limits)
        entries.append(
            b'{"top":%b,"name":%b,"file":%b,"below":[%b]}'
            % (session_json, encode_text(name), message_json, parts_json)
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
        % (encode_text(part), load_json_or_error(folder / (part + SUFFIX), top, limits))
        for part in sorted(list_names(folder, top, SUFFIX))
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
