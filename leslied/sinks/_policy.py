"""Where output may be written. The folder recorded in a log is untrusted input."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.errors import SinkError
from leslied.folders import LinkInPathError, find_fault, open_folder
from leslied.model.project_markers import PROJECT_MARKERS
from leslied.projects.git import find_top_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.folders import Folder

_SYSTEM_FOLDERS = re.compile(
    "/(bin|boot|dev|etc|lib|lib32|lib64|proc|root|run|sbin|sys|tmp|usr|var"
    "|Library|System|private)(/.*)?",
    re.DOTALL,
)
"""Folders that never contain a project, except below the user's home folder."""
_SHARED_FOLDERS = frozenset({"share", "state", ".config", "Application Support"})
"""Names of folders in which every program has a folder of its own."""


class OutputRoot(Struct, frozen=True):
    """The folder that holds `.leslie`, and the reason if it is not the project."""

    folder: Path
    reason: str = ""


class OutputPolicy(Struct, frozen=True, kw_only=True):
    """Rules that choose between a project's own folder and the central tree."""

    home: Path
    central: Path
    """Top of the central tree, which has a folder for each project."""
    reserved_folders: tuple[Path, ...] = ()
    """Folders in which agents and leslied store their own data."""
    user: int = 0
    """User id that must own a project."""
    is_central: bool = False
    """Whether to use the central tree for every project."""
    redact: Callable[[str], str] = str
    """Removes secrets from the path after which a folder of the central tree is named;
    by default, removes nothing."""

    def choose(self, cwd: str) -> OutputRoot:
        """Return the output folder of a session that worked in this folder."""
        project = find_project(cwd)
        reason = "set to central" if self.is_central else self._find_refusal(project)
        if not reason and project:
            return OutputRoot(project)
        return self.choose_central(cwd, reason)

    def choose_central(self, cwd: str, reason: str = "an old session") -> OutputRoot:
        """Return the project's folder in the central tree, with the reason for it."""
        name = self._make_folder_name(str(find_project(cwd) or cwd))
        return OutputRoot(self.central / name, reason)

    def _make_folder_name(self, path: str) -> str:
        """Return the name of a project's central folder, unique to its path."""
        last_part = self.redact(path).rpartition("/")[2]
        name = re.sub(r"[^A-Za-z0-9]+", "-", last_part).strip("-")[:40]
        digest = hashlib.sha256(path.encode(errors="replace")).hexdigest()[:8]
        return f"{name or 'unknown'}-{digest}"

    def _find_refusal(self, project: Path | None) -> str:
        """Return why the project must not be written to; empty if it may be."""
        if project is None:
            return "the folder is not in a project"
        try:
            with open_folder(project) as folder:
                return self._find_fault(folder)
        except LinkInPathError:
            return "the path contains a symbolic link"
        except SinkError:
            return "the folder does not exist or cannot be read"

    def _find_fault(self, project: Folder) -> str:
        """Return what is wrong with an open folder, whose path contains no links."""
        path, home = project.path, self.home.resolve()
        if path in (Path("/"), home):
            return "the home folder and the root folder are not projects"
        if not path.is_relative_to(home) and _SYSTEM_FOLDERS.fullmatch(str(path)):
            return "a system or temporary folder"
        if any(path.is_relative_to(folder) for folder in self.reserved_folders):
            return "a folder of an agent or of leslied"
        fault = find_fault(os.fstat(project.fd), self.user)
        is_writable = os.access(".", os.W_OK | os.X_OK, dir_fd=project.fd)
        return fault or ("" if is_writable else "read-only")


def find_agent_folder(root: Path, home: Path) -> Path:
    """Return the folder of an agent that writes sessions to `root`.

    It is the parent of `root`, where the agent keeps its other files. If other programs
    or users share the parent, it is `root` itself.
    """
    parent = root.parent
    is_shared = home.is_relative_to(parent) or parent.name in _SHARED_FOLDERS
    return root if is_shared else parent


def find_project(cwd: str) -> Path | None:
    """Return the top level of the Git repository that contains the folder.

    Outside of a repository, return the folder itself if it has a project marker, else
    None.
    """
    path = Path(cwd)
    if not path.is_absolute() or "\0" in cwd or ".." in path.parts:
        return None
    top = find_top_level(path)
    if top:
        return top
    return path if any(_has_entry(path, name) for name in PROJECT_MARKERS) else None


def _has_entry(folder: Path, name: str) -> bool:
    try:
        (folder / name).lstat()
    except (OSError, ValueError):
        return False
    return True
