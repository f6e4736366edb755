"""Record where this process creates, renames, changes or removes files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Self

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# The positions of (path, descriptor of its folder) in the arguments of each event.
_EVENTS: dict[str, list[tuple[int, int | None]]] = {
    "os.mkdir": [(0, 2)],
    "os.rename": [(0, 2), (1, 3)],
    "os.remove": [(0, 1)],
    "os.rmdir": [(0, 1)],
    "os.link": [(1, 3)],
    "os.symlink": [(1, 2)],
    "os.chmod": [(0, 2)],
    "os.chown": [(0, 3)],
    "os.utime": [(0, 3)],
    "os.truncate": [(0, None)],
    "sqlite3.connect": [(0, None)],
}
_recorders: list[PathRecorder] = []


class PathRecorder:
    """Records paths while a `with` block runs, with all links resolved.

    A file that is created relative to a descriptor is recorded when it gets its name.
    """

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.opens = 0
        """Number of opened files and folders."""
        self.replaced = 0
        """Number of files that were renamed or removed."""

    def __enter__(self) -> Self:
        _install()
        _recorders.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _recorders.remove(self)

    def find_outside(self, *allowed: str) -> list[str]:
        """Return the recorded paths that are not in one of the folders."""
        return [
            path
            for path in sorted(self.written)
            if not any(f"{path}/".startswith(f"{folder}/") for folder in allowed)
        ]

    def record(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self.opens += 1
            path, _, flags = args
            is_write = isinstance(flags, int) and flags & _WRITE_FLAGS
            if is_write and not isinstance(path, int) and os.fsdecode(path)[:1] == "/":
                self.written.add(resolve("/", path))
        self.replaced += event in ("os.rename", "os.remove")
        for path_at, fd_at in _EVENTS.get(event, ()):
            if not isinstance(args[path_at], int):
                fd = -1 if fd_at is None else args[fd_at]
                folder = f"/proc/self/fd/{fd}" if fd >= 0 else "/proc/self/cwd"
                self.written.add(resolve(folder, args[path_at]))


def resolve(folder: str, path: str | bytes) -> str:
    """Return the real path of an entry, of which only the folder may be a link."""
    text = os.fsdecode(path).removeprefix("file:").partition("?")[0]
    entry = Path(folder, text)
    return str(Path(os.path.realpath(entry.parent)) / entry.name)


def _install() -> None:
    """Install the hook of all recorders once; Python cannot remove a hook."""
    if not _Hook.is_installed:
        _Hook.is_installed = True
        sys.addaudithook(_Hook.call)


class _Hook:
    is_installed = False

    @staticmethod
    def call(event: str, args: tuple[Any, ...]) -> None:
        for recorder in _recorders:
            recorder.record(event, args)
