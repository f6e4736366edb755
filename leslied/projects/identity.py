"""Decide which paths are the same project. Pure functions.

A repository was certainly moved from one path to another if the old path is gone, both
have the same first commit, and either the same Git directory (device and inode) or the
same remote. A remote proves nothing if several of the existing repositories have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leslied.model.project import Repository


def follow_links(path: str, links: Mapping[str, str]) -> str:
    """Return the last path of the chain of links from `path`; `path` for a cycle."""
    visited_paths = {path}
    target = path
    while target in links:
        target = links[target]
        if target in visited_paths:
            return path
        visited_paths.add(target)
    return target


def find_moves(
    repositories: Iterable[Repository], exists: Callable[[str], bool]
) -> dict[str, str]:
    """Return the new path of every repository that was certainly moved."""
    groups: dict[str, list[Repository]] = {}
    for repository in repositories:
        if repository.root_commit:
            groups.setdefault(repository.root_commit, []).append(repository)
    moves: dict[str, str] = {}
    for group in groups.values():
        if len(group) > 1:
            candidates = [each for each in group if exists(each.path)]
            missing_repositories = [each for each in group if each not in candidates]
            for missing_repository in missing_repositories:
                new_path = _find_new_path(missing_repository, candidates)
                if new_path:
                    moves[missing_repository.path] = new_path
    return moves


def _find_new_path(
    missing_repository: Repository, candidates: Sequence[Repository]
) -> str:
    """Return the path of the candidate that is the missing repository, or ""."""
    directory_id, remote = missing_repository.directory_id, missing_repository.remote
    paths_of_directory = [
        each.path
        for each in candidates
        if directory_id and each.directory_id == directory_id
    ]
    paths_of_remote = [
        each.path for each in candidates if remote and each.remote == remote
    ]
    paths = paths_of_directory or paths_of_remote
    return paths[0] if len(paths) == 1 else ""
