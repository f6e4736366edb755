"""The spool: small files in which hooks pass events to the daemon.

An event only names a log that the daemon must read soon; all content comes from the
log. No event is therefore essential: the number of files is limited, and the daemon's
next scan reads the logs of lost events.
"""

from __future__ import annotations

import os

from leslied.hooks.files import (
    TEMPORARY_SUFFIX,
    get_age_seconds,
    list_names,
    read_part,
    remove_file,
    write_atomic,
)
from leslied.mini_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "hooks/spool"
EVENTS = ("Stop", "SubagentStop", "SessionEnd", "Notification")
"""Events after which the daemon reads the log."""
MAX_FILES = 1000
_MAX_FILE_BYTES = 16_384
_MAX_VALUE_CHARACTERS = 4096
"""Maximum length of a field: that of the longest path a file system accepts."""
_FIELDS = (
    "hook_event_name",
    "session_id",
    "transcript_path",
    "agent_transcript_path",
    "reason",
    "notification_type",
)
"""Fields that are spooled: they describe the event and locate the log. Prompts and
answers are never spooled."""
_TIME_DIGITS = 20
"""Digits of the time at the start of a file name, so that names sort by time."""
_STALE_SECONDS = 60.0
"""Age at which a temporary file counts as abandoned."""


def write_event(data_dir: str, event: dict[str, Any], now_ns: int) -> bool:
    """Write the event for the daemon, without unusable fields.

    Return False if too many files are pending or the event is too large. Raise OSError
    if the file cannot be written.
    """
    folder = f"{data_dir}/{FOLDER}"
    if len(list_names(folder)) >= MAX_FILES:
        return False
    data = dumps({name: event[name] for name in _FIELDS if _is_usable(event.get(name))})
    if len(data) > _MAX_FILE_BYTES:
        return False
    name = f"{now_ns:0{_TIME_DIGITS}}-{os.getpid()}.json"
    write_atomic(folder, name, data)
    return True


class SpooledEvents:
    """Pending events, the paths of their files, and the names of dropped files.

    `events` and `paths` have the same order. `dropped` are invalid files that were
    removed.
    """

    __slots__ = ("dropped", "events", "paths")

    def __init__(self) -> None:
        self.events: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.dropped: list[str] = []


def read_events(data_dir: str, now_ns: int) -> SpooledEvents:
    """Return the pending events, oldest first; remove invalid files."""
    spooled = SpooledEvents()
    folder = f"{data_dir}/{FOLDER}"
    for name in list_names(folder):
        path = f"{folder}/{name}"
        # A hook may still be writing this file.
        if (
            name.endswith(TEMPORARY_SUFFIX)
            and get_age_seconds(path, now_ns) < _STALE_SECONDS
        ):
            continue
        event = _parse(read_part(path, 0, _MAX_FILE_BYTES) if name[:1] != "." else None)
        if event:
            spooled.events.append(event)
            spooled.paths.append(path)
        elif remove_file(path):
            spooled.dropped.append(name)
    return spooled


def parse_time_ns(path: str) -> int:
    """Return when the hook of an event was called, from the path of its file.

    Return 0 if another program gave the file its name.
    """
    digits = path.rpartition("/")[2].partition("-")[0]
    is_time = len(digits) == _TIME_DIGITS and digits.isascii() and digits.isdecimal()
    return int(digits) if is_time else 0


def _parse(data: bytes | None) -> dict[str, str]:
    """Return the event's fields, empty if the data is not a valid event."""
    try:
        event = loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(event, dict) or event.get("hook_event_name") not in EVENTS:
        return {}
    fields = {name: event[name] for name in _FIELDS if isinstance(event.get(name), str)}
    return fields if all(map(_is_usable, fields.values())) else {}


def _is_usable(value: object) -> bool:
    """Return whether the value is a text that SQLite and the file system accept.

    JSON can contain a lone surrogate, which neither of the two can encode.
    """
    if not isinstance(value, str) or "\0" in value:
        return False
    if len(value) > _MAX_VALUE_CHARACTERS:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
