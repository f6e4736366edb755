"""Which processes that claim to work on a session are really there."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import SourceError
from leslied.model.session import ProcessRegistry
from leslied.tail.files import open_regular, read_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leslied.model.session import LiveProcess

_MAX_FILE_BYTES = 64 * 1024
_MAX_FOLDERS = 64
_START_TOLERANCE_TICKS = 200
"""A start time is told from a boot time that was rounded: two seconds are the same."""


def find_processes(
    registries: Iterable[ProcessRegistry],
    parse: Callable[[Path, bytes], LiveProcess | None],
) -> dict[str, bool]:
    """Sessions named in the registries, and whether a process still works on each."""
    found: dict[str, bool] = {}
    locked = _FileLocks()
    for registry in registries:
        for path in _list_files(registry):
            live = parse(path, _read(path))
            if live is None:
                continue
            is_there = locked.is_locked(path) if live.pid is None else is_running(live)
            if is_there is not None:
                found[live.session_id] = is_there or found.get(live.session_id, False)
    return found


class _FileLocks:
    """Files that some process holds a lock on, asked for without trying to lock one."""

    @cached_property
    def _inodes(self) -> frozenset[int] | None:
        try:
            with open("/proc/locks", encoding="ascii") as file:  # noqa: PTH123
                # The device is left out: on some file systems `stat` tells another.
                return frozenset(int(line.split(":")[-1].split()[0]) for line in file)
        except (OSError, ValueError, IndexError):
            return None

    def is_locked(self, path: Path) -> bool | None:
        """Whether somebody holds it; None where that cannot be told."""
        try:
            return None if self._inodes is None else path.stat().st_ino in self._inodes
        except OSError:
            return None


def is_running(live: LiveProcess) -> bool:
    """The very process is there: same number, same beginning."""
    began = _read_start_ticks(live.pid) if live.pid is not None else None
    if began is None:
        return False
    if live.start_ticks is None or began < 0:
        return True
    return abs(began - live.start_ticks) <= _START_TOLERANCE_TICKS


def _list_files(registry: ProcessRegistry) -> list[Path]:
    """The registry's files; keys and other secrets beside them are never opened.

    Where every session has a folder of its own, only the newest are looked into.
    """
    folder, _, name = registry.glob.rpartition("/")
    try:
        if not folder:
            return sorted(p for p in registry.path.iterdir() if fnmatch(p.name, name))
        folders = sorted(os.scandir(registry.path), key=_mtime)[-_MAX_FOLDERS:]
    except OSError:
        return []
    inner = (
        ProcessRegistry(Path(each.path), name) for each in folders if each.is_dir()
    )
    return [path for each in inner for path in _list_files(each)]


def _mtime(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as fd:
            return read_at(fd, _MAX_FILE_BYTES, 0)
    except SourceError:
        return b""


def _read_start_ticks(pid: int) -> int | None:
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
    return (
        -1 if not os.path.exists("/proc/self/stat") and _process_exists(pid) else None
    )


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
