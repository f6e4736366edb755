"""Find sessions with a running process, from the process registries of agents."""

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
    from collections.abc import Callable, Iterable, Iterator

    from leslied.model.session import LiveProcess

_MAX_FILE_BYTES = 64 * 1024
_MAX_FOLDERS = 64
"""Newest folders that are searched for registry files."""
_START_TOLERANCE_TICKS = 200
"""Two seconds: agents compute a start time from a boot time that was rounded."""


def check_session_processes(
    registries: Iterable[ProcessRegistry],
    parse: Callable[[Path, bytes], LiveProcess | None],
) -> dict[str, bool]:
    """Return, for each session in the registries, whether its process is running.

    Sessions whose state is unknown are left out.
    """
    sessions: dict[str, bool] = {}
    for process, is_live in iter_processes(registries, parse):
        session_id = process.session_id
        sessions[session_id] = is_live or sessions.get(session_id, False)
    return sessions


def iter_processes(
    registries: Iterable[ProcessRegistry],
    parse: Callable[[Path, bytes], LiveProcess | None],
) -> Iterator[tuple[LiveProcess, bool]]:
    """Yield every process in the registries, and whether it is running.

    Processes whose state is unknown are left out.
    """
    locks = _FileLocks()
    for registry in registries:
        for path in _list_files(registry):
            process = parse(path, _read_registry_file(path))
            # The agent may have been rewriting the file in place, so read it again.
            process = process or parse(path, _read_registry_file(path))
            if process is None:
                continue
            if process.pid is None:
                is_live = locks.is_locked(path)
            else:
                is_live = is_running(process)
            if is_live is not None:
                yield process, is_live


def are_registries_readable(registries: Iterable[ProcessRegistry]) -> bool:
    """Return whether the registries are complete, so that unlisted processes are gone.

    They are not if the agent has no registry, or if a registry cannot be read.
    """
    paths = [registry.path for registry in registries if registry.path.parent.is_dir()]
    return bool(paths) and all(os.access(path, os.R_OK | os.X_OK) for path in paths)


class _FileLocks:
    """Files that any process has locked, read from `/proc/locks`."""

    @cached_property
    def _inodes(self) -> frozenset[int] | None:
        try:
            with open("/proc/locks", encoding="ascii") as file:  # noqa: PTH123
                # Ignore the device: on some file systems `stat` returns another.
                return frozenset(int(line.split(":")[-1].split()[0]) for line in file)
        except (OSError, ValueError, IndexError):
            return None

    def is_locked(self, path: Path) -> bool | None:
        """Return whether a process holds a lock on the file, or None if unknown."""
        try:
            return None if self._inodes is None else path.stat().st_ino in self._inodes
        except OSError:
            return None


def is_running(process: LiveProcess) -> bool:
    """Return whether a process has this pid and, if both are known, this start time."""
    ticks = _read_start_ticks(process.pid) if process.pid is not None else None
    if ticks is None:
        return False
    if process.start_ticks is None or ticks < 0:
        return True
    return abs(ticks - process.start_ticks) <= _START_TOLERANCE_TICKS


def _list_files(registry: ProcessRegistry) -> list[Path]:
    """Return the files that match the registry's glob; others may contain secrets.

    If the glob has a folder part, only the newest folders are listed.
    """
    folder, _, name = registry.glob.rpartition("/")
    try:
        if not folder:
            return sorted(p for p in registry.path.iterdir() if fnmatch(p.name, name))
        folders = sorted(os.scandir(registry.path), key=_read_mtime_ns)[-_MAX_FOLDERS:]
    except OSError:
        return []
    registries = (
        ProcessRegistry(Path(entry.path), name) for entry in folders if entry.is_dir()
    )
    return [path for inner in registries for path in _list_files(inner)]


def _read_mtime_ns(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _read_registry_file(path: Path) -> bytes:
    """Return the start of the file; empty if it cannot be read."""
    try:
        with open_regular(path) as fd:
            return read_at(fd, _MAX_FILE_BYTES, 0)
    except SourceError:
        return b""


def _read_start_ticks(pid: int) -> int | None:
    """Return a process's start time in ticks; -1 if unknown, None if it is gone."""
    try:
        with open(f"/proc/{pid:d}/stat", "rb") as file:  # noqa: PTH123
            # The name of the program, in parentheses, may contain spaces. After it,
            # the first field is the state, and the twentieth is the start time.
            fields = file.read().rpartition(b")")[2].split()
        if fields[0] in (b"Z", b"X"):
            return None
        return int(fields[19])
    except (FileNotFoundError, ProcessLookupError):
        pass
    except (OSError, IndexError, ValueError):
        return -1
    # Without /proc, as on macOS, only the existence of the process can be checked.
    has_proc = Path("/proc/self/stat").exists()
    return -1 if not has_proc and _process_exists(pid) else None


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
