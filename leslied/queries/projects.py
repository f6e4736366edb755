"""Projects: the paths and names by which users select them, and their links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.paths import resolve_path_or_name
from leslied.projects.git import find_repository

if TYPE_CHECKING:
    from pathlib import Path


def resolve_project(text: str, home: Path) -> str:
    """Return a project's name unchanged, and a path as an absolute path.

    A path in a linked working tree is replaced by that of its repository, because
    sessions may have worked only in other working trees.
    """
    path = resolve_path_or_name(text, home)
    repository = find_repository(path)
    is_linked = repository is not None and repository.worktree != repository.main
    return str(repository.main) if repository and is_linked else path
