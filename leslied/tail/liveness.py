"""Which processes that claim to work on a session are really there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from leslied.model.session import Live

_LARGEST = 64 * 1024
_TICKS_APART = 200
"""A start time is told from a boot time that was rounded: two seconds are the same."""


def find_processes(
    folders: Iterable[Path], parse: Callable[[bytes], Live | None]
) -> dict[str, bool]:
    """Sessions named in the folders, and whether a process still works on each."""
    found: dict[str, bool] = {}
    for folder in folders:
        for path in _list(folder):
            live = parse(_read(path))
            if live:
                found[live.session_id] = is_running(live) or found.get(
                    live.session_id, False
                )
    return found


def is_running(live: Live) -> bool:
    """The very process is there: same number, same beginning."""
    began = _read_start(live.pid)
    if began is None:
        return False
    if live.start_ticks is None or began < 0:
        return True
    return abs(began - live.start_ticks) <= _TICKS_APART


def _list(folder: Path) -> list[Path]:
    """The registry's files; keys and other secrets beside them are never opened."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return []


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as fd:
            return read_at(fd, _LARGEST, 0)
    except SourceError:
        return b""


def _read_start(pid: int) -> int | None:
    """When the process began, in ticks; -1 where that cannot be told; None if gone."""
    try:
        with open(f"/proc/{pid:d}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        if fields[0] in (b"Z", b"X"):
            return None
        return int(fields[19])
    except (FileNotFoundError, ProcessLookupError):
        pass
    except (OSError, IndexError, ValueError):
        return -1
    return -1 if not os.path.exists("/proc/self/stat") and _answers(pid) else None  # noqa: PTH110


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
