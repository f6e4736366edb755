"""Learn where an agent keeps its logs: from hook events, and from other sessions.

An event is untrusted: anybody who can write to the spool could name any file. So a
folder is learned only if it, and everything between it and the log, belongs to the user
and looks like a folder of the agent. The folders that logs name are untrusted, too.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leslied import tail
from leslied.hooks import learned_roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leslied.model.source import Root


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class RootLearner:
    """Adds the folders of logs that hook events name to the learned ones."""

    agent: str
    data_dir: Path
    own_folders: tuple[Path, ...]
    """Folders that leslied writes to."""
    make_roots: Callable[[Path], Sequence[Root]]
    """Returns the roots in an agent's folder."""
    is_enabled: bool = True
    """Whether the agent is enabled."""

    def learn(self, log: Path) -> Path | None:
        """Return the agent's folder if it is learned from this log, else None."""
        if not self.is_enabled:
            return None
        try:
            return self._learn(log.resolve(strict=True))
        except (OSError, ValueError, RuntimeError):
            return None

    def _learn(self, real_log: Path) -> Path | None:
        text = learned_roots.find_config_folder(str(real_log))
        folder = Path(text)
        if not text or not self._is_trusted(folder, real_log):
            return None
        is_source = tail.find_source(self.agent, self.make_roots(folder), real_log)
        if is_source and learned_roots.add(str(self.data_dir), text):
            return folder
        return None

    def _is_trusted(self, folder: Path, log: Path) -> bool:
        """Return whether only the user can have written the log, and not leslied."""
        if any(log.is_relative_to(own.resolve()) for own in self.own_folders):
            return False
        parents = log.relative_to(folder).parents
        return stat.S_ISREG(log.stat().st_mode) and all(
            _is_own(path) for path in (log, *(folder / each for each in parents))
        )


def find_project_logs(folders: Iterable[str], name: str) -> list[Path]:
    """Return the folders that contain a log of this name, written by the user.

    A folder that is gone or cannot be read contains none.
    """
    return [
        Path(folder)
        for folder in dict.fromkeys(folders)
        if folder.startswith("/") and _has_own_file(Path(folder, name))
    ]


def _has_own_file(path: Path) -> bool:
    """Return whether the path is a file, not a link, that only the user writes."""
    try:
        return stat.S_ISREG(path.lstat().st_mode) and _is_own(path)
    except (OSError, ValueError):
        return False


def _is_own(path: Path) -> bool:
    """Return whether the path belongs to the user and nobody else can write to it."""
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & stat.S_IWOTH
