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
    """The daemon will hear of it; False where too much waits already."""
    folder = f"{data_dir}/{FOLDER}"
    if len(list_names(folder)) >= MOST:
        return False
    kept = {name: event[name] for name in _KEPT if isinstance(event.get(name), str)}
    _write(folder, f"{now_ns:020}-{os.getpid()}.json", dumps(kept))
    return True


class Told:
    """What waits in the spool: events with their files, and what was no event."""

    __slots__ = ("dropped", "events", "paths")

    def __init__(self) -> None:
        self.events: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.dropped = 0

    def forget(self) -> None:
        """The events were heard."""
        for path in self.paths:
            remove(path)


def listen(data_dir: str, now_ns: int) -> Told:
    """Every event that waits, oldest first; garbage is removed and counted."""
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
        else:
            told.dropped += remove(path)
    return told


def _parse(data: bytes | None) -> dict[str, str]:
    try:
        event = loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(event, dict) or event.get("hook_event_name") not in EVENTS:
        return {}
    return {name: event[name] for name in _KEPT if isinstance(event.get(name), str)}
