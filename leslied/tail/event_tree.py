"""Read sessions stored as folders with one file for each event, written once.

The source is the file with the session's state, which the agent rewrites. A folder next
to it has the events, whose names sort in their order. Another one has a folder for each
subagent, with the same structure. All of them are one source, because only the
session's events say which call started a subagent.

An entry is one event, or the state of a session. The entry of an event also contains
the session's state if that has changed since the last read.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from dataclasses import dataclass
from heapq import merge
from typing import TYPE_CHECKING

import msgspec

from leslied.errors import SourceError
from leslied.tail.json_files import (
    SUFFIX,
    EntryBuffer,
    add_to_stamp,
    encode_text,
    list_names,
    load_json,
    load_json_or_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.model.source import Chunk, Cursor, FileStamp, SourceRef
    from leslied.tail.limits import ReadLimits

_EVENTS, _SUBAGENTS = 0, 1
"""Indexes of the two folders in `SourceRef.child_folders`."""
_MAX_DEPTH = 4
"""Levels of subagents that are read."""


@dataclass(slots=True)
class _Session:
    """The folder of a session or subagent, and how far it was read."""

    names: tuple[str, ...]
    """The names of the folders from the main session's to this one."""
    folder: Path
    newest: str = ""
    """The name of the newest event that was read."""
    crc: int = -1
    """Checksum of the state that was read last."""
    state_json: bytes = b""
    """The state, or nothing if it has not changed since the last read."""
    new_crc: int = -1

    @property
    def key(self) -> str:
        return "/".join(self.names)


def stamp_tree(
    path: Path, child_folders: tuple[str, ...], stamp: FileStamp
) -> FileStamp:
    """Return the stamp of the states and folders of a session and its subagents."""
    top = path.parent
    for session in _iter_sessions(path, top, child_folders):
        names = [path.name, *child_folders] if session.names else child_folders
        stamp = add_to_stamp(stamp, [session.folder / name for name in names])
    return stamp


def read(source: SourceRef, cursor: Cursor, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield the events since the last read, and then the states that have changed.

    An event that is not complete is read later, unless another one follows it.

    Raise SourceError if the session's state is missing or too large.
    """
    positions = _parse_positions(cursor.anchor)
    folders = _iter_sessions(source.path, source.root, source.child_folders)
    sessions = [
        each for each in folders if _load_state(source, each, positions, limits)
    ]
    buffer, is_complete = EntryBuffer(source, limits, cursor), True
    new_events = [_list_new_events(source, session) for session in sessions]
    # The call that starts a subagent is older than the subagent's events.
    for _, session, name, is_newest in merge(*new_events, key=lambda event: event[0]):
        path = session.folder / source.child_folders[_EVENTS] / (name + SUFFIX)
        data = load_json_or_error(path, source.root, limits)
        if is_newest and not data.startswith(b"{"):
            is_complete = False  # The file is not written to its end yet.
            continue
        session.newest = name
        positions[session.key] = (session.newest, session.crc)
        buffer.add(_make_entry(session, name, data))
        if buffer.is_full():
            yield buffer.make_chunk(positions)
    for session in sessions:
        if session.state_json:
            positions[session.key] = (session.newest, session.new_crc)
            buffer.add(_make_entry(session))
    yield buffer.make_chunk(positions, source.stamp if is_complete else None)


def _make_entry(session: _Session, name: str = "", data: bytes = b"") -> bytes:
    """Return an event, or the state alone, as a JSON object."""
    fields = [b'"path":%b' % msgspec.json.encode(session.names)]
    if session.state_json:
        fields.append(b'"state":%b' % session.state_json)
    if name:
        fields.append(b'"name":%b,"event":%b' % (encode_text(name), data))
    return b"{%b}" % b",".join(fields)


def _parse_positions(anchor: bytes) -> dict[str, tuple[str, int]]:
    if not anchor:
        return {}
    return msgspec.json.decode(anchor, type=dict[str, tuple[str, int]])


def _iter_sessions(
    path: Path, root: Path, child_folders: tuple[str, ...]
) -> Iterator[_Session]:
    """Yield the session and its subagents, each after the one that started it."""
    pending = [_Session((), path.parent)]
    while pending:
        session = pending.pop(0)
        yield session
        folder = session.folder / child_folders[_SUBAGENTS]
        if len(session.names) < _MAX_DEPTH:
            pending += [
                _Session((*session.names, name), folder / name)
                for name in sorted(list_names(folder, root))
            ]


def _load_state(
    source: SourceRef,
    session: _Session,
    positions: dict[str, tuple[str, int]],
    limits: ReadLimits,
) -> bool:
    """Load the state and position of a session; return False if there is no state."""
    try:
        data = load_json(session.folder / source.path.name, source.root, limits)
    except SourceError:
        if not session.names:
            raise
        return False
    session.newest, session.crc = positions.get(session.key, ("", -1))
    session.new_crc = zlib.crc32(data)
    # A state that is being written is not JSON yet; the next write changes its stamp.
    if session.new_crc != session.crc and data.startswith(b"{"):
        session.state_json = data
    return True


def _list_new_events(
    source: SourceRef, session: _Session
) -> list[tuple[int, _Session, str, bool]]:
    """Return (time, session, name, whether it is the newest) of each new event."""
    folder = session.folder / source.child_folders[_EVENTS]
    names = sorted(list_names(folder, source.root, SUFFIX))
    time_ns, events = 0, []
    for name in names[bisect_right(names, session.newest) :]:
        try:
            status = (folder / (name + SUFFIX)).stat()
        except OSError:
            continue
        # Events keep the order of their names, also if their times are wrong.
        time_ns = max(time_ns, status.st_mtime_ns)
        events.append((time_ns, session, name, name == names[-1]))
    return events
