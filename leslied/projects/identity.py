"""Decide which paths are the same project. Pure functions.

A repository was certainly moved from one path to another if the old path is gone, both
have the same first commit, and either the same Git directory (device and inode) or the
same remote. If several repositories have that remote, nothing is certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from leslied.model.project import Repository


def follow_links(path: str, links: Mapping[str, str]) -> str:
    """Return the path at the end of a chain of links; a cycle ends at its start."""
    seen = {path}
    target = path
    while target in links:
        target = links[target]
        if target in seen:
            return path
        seen.add(target)
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
            present = [each for each in group if exists(each.path)]
            for gone in (each for each in group if each not in present):
                new_path = _find_new_path(gone, present)
                if new_path:
                    moves[gone.path] = new_path
    return moves


def _find_new_path(gone: Repository, present: Sequence[Repository]) -> str:
    """Return the path of the repository that `gone` became, or ""."""
    same_directory = [
        each.path
        for each in present
        if gone.directory_id and each.directory_id == gone.directory_id
    ]
    same_remote = [
        each.path for each in present if gone.remote and each.remote == gone.remote
    ]
    candidates = same_directory or same_remote
    return candidates[0] if len(candidates) == 1 else ""
