"""What hooks tell the daemon: small files that wait until it looks.

A file is a hint, never the truth: what it names is read from the log itself. So there
may be at most a thousand of them, and the daemon's next scan makes up for the rest.
"""

from __future__ import annotations

import os

from leslied.hooks.files import TEMPORARY, find_age, list_names, read_part, remove
from leslied.hooks.files import write_whole as _write
from leslied.mini_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "hooks/spool"
EVENTS = ("Stop", "SubagentStop", "SessionEnd")
"""Hooks after which a log is worth a look."""
MOST = 1000
_MOST_BYTES = 16_384
_MOST_CHARACTERS = 4096
"""The longest path that a file system takes."""
_KEPT = (
    "hook_event_name",
    "session_id",
    "transcript_path",
    "agent_transcript_path",
    "reason",
)
"""Where something happened; never what was said."""
_STALE_SECONDS = 60.0


def tell(data_dir: str, event: dict[str, Any], now_ns: int) -> bool:
    """Write the event for the daemon, without fields that cannot be used.

    Return False where too many files wait already, or where the event is too large.
    """
    folder = f"{data_dir}/{FOLDER}"
    if len(list_names(folder)) >= MOST:
        return False
    kept = {name: event[name] for name in _KEPT if _is_usable(event.get(name))}
    data = dumps(kept)
    if len(data) > _MOST_BYTES:
        return False
    _write(folder, f"{now_ns:020}-{os.getpid()}.json", data)
    return True


class Told:
    """What waits in the spool: events with their files, and the names of garbage."""

    __slots__ = ("dropped", "events", "paths")

    def __init__(self) -> None:
        self.events: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.dropped: list[str] = []


def listen(data_dir: str, now_ns: int) -> Told:
    """List every event that waits, oldest first; remove garbage and list its names."""
    told = Told()
    folder = f"{data_dir}/{FOLDER}"
    for name in list_names(folder):
        path = f"{folder}/{name}"
        if name.endswith(TEMPORARY) and find_age(path, now_ns) < _STALE_SECONDS:
            continue
        event = _parse(read_part(path, 0, _MOST_BYTES) if name[:1] != "." else None)
        if event:
            told.events.append(event)
            told.paths.append(path)
        elif remove(path):
            told.dropped.append(name)
    return told


def _parse(data: bytes | None) -> dict[str, str]:
    try:
        event = loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(event, dict) or event.get("hook_event_name") not in EVENTS:
        return {}
    kept = {name: event[name] for name in _KEPT if isinstance(event.get(name), str)}
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
