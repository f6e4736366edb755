"""Learn where an agent keeps its logs: from hook events, and from other sessions.

An event is untrusted: anybody who can write to the spool could name any file. So a
folder is learned only if it, and everything between it and the log, belongs to the user
and looks like a folder of the agent. The folders that logs name are untrusted, too.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied import tail
from leslied.hooks import learned_roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leslied.model.source import Root


class RootLearner(Struct, kw_only=True, eq=False):
    """Learns the agent's folders from the logs that hook events name."""

    agent: str
    data_dir: Path
    own_folders: tuple[Path, ...]
    """Folders that leslied writes to."""
    make_roots: Callable[[Path], Sequence[Root]]
    """Returns the roots in an agent's folder."""
    is_enabled: bool = True
    """Whether the agent is enabled."""

    def learn(self, log: Path) -> Path | None:
        """Save the agent's folder that contains this log as a learned root.

        Return the folder, or None if it must not be learned.
        """
        if not self.is_enabled:
            return None
        try:
            return self._learn(log.resolve(strict=True))
        except (OSError, ValueError, RuntimeError):
            return None

    def _learn(self, real_log: Path) -> Path | None:
        """Do what `learn` promises, for the path of the log without links."""
        text = learned_roots.find_config_folder(str(real_log))
        folder = Path(text)
        if not text or not self._is_trusted(folder, real_log):
            return None
        is_source = tail.find_source(self.agent, self.make_roots(folder), real_log)
        if is_source and learned_roots.add(str(self.data_dir), text):
            return folder
        return None

    def _is_trusted(self, folder: Path, log: Path) -> bool:
        """Return whether the user owns the log and its folders, from `folder` down.

        A log that leslied wrote itself is not trusted.
        """
        if any(log.is_relative_to(own.resolve()) for own in self.own_folders):
            return False
        parents = log.relative_to(folder).parents
        return stat.S_ISREG(log.stat().st_mode) and all(
            _is_own(path) for path in (log, *(folder / each for each in parents))
        )


def find_folders_with_log(folders: Iterable[str], name: str) -> list[Path]:
    """Return the folders that contain a log of this name which belongs to the user.

    A folder that is gone or cannot be read contains none.
    """
    return [
        Path(folder)
        for folder in dict.fromkeys(folders)
        if folder.startswith("/") and _has_own_file(Path(folder, name))
    ]


def _has_own_file(path: Path) -> bool:
    """Return whether the path is a file of the user's, and not a link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode) and _is_own(path)
    except (OSError, ValueError):
        return False


def _is_own(path: Path) -> bool:
    """Return whether the path belongs to the user and is not writable by everybody."""
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH
