"""A file that names the work in progress, for the case that leslied is killed.

A process that runs out of memory cannot record which work needed too much. So the work
is named before it begins; work that is still named at the next start was in progress
when the process died. The file is not synced: it must survive the process, not a
power loss.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class WorkMarker:
    """The file with the names of the work in progress, one JSON line for each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: set[tuple[str, str]] = set()

    def add(self, scope: str, name: str) -> None:
        """Name a piece of work before it begins; do nothing if it is named already."""
        key = (scope, name)
        if key in self._keys:
            return
        self._keys.add(key)
        with suppress(OSError):
            fd = os.open(self._path, _FLAGS, 0o600)
            try:
                os.write(fd, msgspec.json.encode(key) + b"\n")
            finally:
                os.close(fd)

    def clear(self) -> None:
        """Record that no work is in progress."""
        if self._keys:
            self._keys.clear()
            with suppress(OSError):
                os.truncate(self._path, 0)

    def take(self) -> list[tuple[str, str]]:
        """Return scope and name of work that a killed process left; empty the file."""
        try:
            lines = self._path.read_bytes().split(b"\n")
            os.truncate(self._path, 0)
        except OSError:
            return []
        keys: dict[tuple[str, str], None] = {}
        for line in lines:
            # The last line may be incomplete.
            with suppress(msgspec.DecodeError):
                keys[msgspec.json.decode(line, type=tuple[str, str])] = None
        return list(keys)
