"""What hooks tell the daemon: small files that wait until it looks.

A file is a hint, never the truth: what it names is read from the log itself. So there
may be at most a thousand of them, and the daemon's next scan makes up for the rest.
"""

from __future__ import annotations

import os

from leslied.hooks.files import (
    TEMPORARY_SUFFIX,
    get_age_seconds,
    list_names,
    read_part,
    remove_file,
)
from leslied.hooks.files import write_atomic as _write
from leslied.mini_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "hooks/spool"
EVENTS = ("Stop", "SubagentStop", "SessionEnd")
"""Hooks after which a log is worth a look."""
MAX_FILES = 1000
_MAX_BYTES = 16_384
_MOST_CHARACTERS = 4096
"""The longest path that a file system takes."""
_FIELDS = (
    "hook_event_name",
    "session_id",
    "transcript_path",
    "agent_transcript_path",
    "reason",
)
"""Where something happened; never what was said."""
_STALE_SECONDS = 60.0


def write_event(data_dir: str, event: dict[str, Any], now_ns: int) -> bool:
    """Write the event for the daemon, without fields that cannot be used.

    Return False where too many files wait already, or where the event is too large.
    """
    folder = f"{data_dir}/{FOLDER}"
    if len(list_names(folder)) >= MAX_FILES:
        return False
    kept = {name: event[name] for name in _FIELDS if _is_usable(event.get(name))}
    data = dumps(kept)
    if len(data) > _MAX_BYTES:
        return False
    _write(folder, f"{now_ns:020}-{os.getpid()}.json", data)
    return True


class SpooledEvents:
    """What waits in the spool: events with their files, and the names of garbage."""

    __slots__ = ("dropped", "events", "paths")

    def __init__(self) -> None:
        self.events: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.dropped: list[str] = []


def read_events(data_dir: str, now_ns: int) -> SpooledEvents:
    """List every event that waits, oldest first; remove garbage and list its names."""
    told = SpooledEvents()
    folder = f"{data_dir}/{FOLDER}"
    for name in list_names(folder):
        path = f"{folder}/{name}"
        if (
            name.endswith(TEMPORARY_SUFFIX)
            and get_age_seconds(path, now_ns) < _STALE_SECONDS
        ):
            continue
        event = _parse(read_part(path, 0, _MAX_BYTES) if name[:1] != "." else None)
        if event:
            told.events.append(event)
            told.paths.append(path)
        elif remove_file(path):
            told.dropped.append(name)
    return told


def _parse(data: bytes | None) -> dict[str, str]:
    try:
        event = loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(event, dict) or event.get("hook_event_name") not in EVENTS:
        return {}
    kept = {name: event[name] for name in _FIELDS if isinstance(event.get(name), str)}
    return kept if all(map(_is_usable, kept.values())) else {}


def _is_usable(value: object) -> bool:
    """Whether it is a text that SQLite and the file system take.

    JSON can spell a lone surrogate, which neither of them can encode.
    """
    if not isinstance(value, str) or len(value) > _MOST_CHARACTERS or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
