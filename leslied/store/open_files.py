"""Check that the files of an open store are still those that were opened.

SQLite keeps using files that were removed, and everything that it writes to them is
lost when they are closed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from leslied.errors import StoreLost

if TYPE_CHECKING:
    from pathlib import Path


class OpenFiles:
    """The files of a store, as they were when it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identities = self._identify()
        """Device and inode of each open file, by name."""

    def check(self) -> None:
        """Raise StoreLost if a file was removed or replaced since it was opened."""
        current = self._identify()
        for name, identity in self._identities.items():
            if current.get(name) != identity:
                raise StoreLost(
                    f"{self._path.with_name(name)} was removed or replaced while "
                    "leslied was running.",
                    "Start leslied again. It restores the store from its archive and "
                    "the logs.",
                )
        # SQLite creates the write-ahead log at the first transaction.
        self._identities = current

    def _identify(self) -> dict[str, tuple[int, int]]:
        """Return the device and inode of each file that exists, by name."""
        identities = {}
        for name in (self._path.name, f"{self._path.name}-wal", "writer.lock"):
            with suppress(OSError):
                status = self._path.with_name(name).stat()
                identities[name] = (status.st_dev, status.st_ino)
        return identities
