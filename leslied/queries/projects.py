"""Projects: their working trees and links, and the paths by which users select them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import UserError
from leslied.model.codec import encode_time
from leslied.model.times import from_us
from leslied.paths import resolve_path_or_name
from leslied.projects.git import find_repository
from leslied.projects.links import load_links

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leslied.queries.context import QueryContext
    from leslied.store.read.project_queries import FolderActivity

_LIST_HINT = "List projects with: leslied projects list"


class ProjectLink(NamedTuple):
    """An earlier path of a project; the field names are those of `--json`."""

    path: str
    automatic: bool
    """Whether leslied recognised that the repository was moved."""


class ProjectState(NamedTuple):
    """A project with everything that is grouped under it."""

    path: str
    exists: bool
    sessions: int
    last_active_at: datetime | None
    folders: list[str]
    """Working directories of its sessions."""
    worktrees: list[str]
    """Linked Git working trees in which sessions worked."""
    links: list[ProjectLink]
    similar: list[str]
    """Other projects with the same first commit, which may be the same project."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **self._asdict(),
            "last_active_at": encode_time(self.last_active_at),
            "links": [link._asdict() for link in self.links],
        }


class ProjectList(NamedTuple):
    """All projects, last active first."""

    projects: list[ProjectState]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"projects": [project.to_dict() for project in self.projects]}


def list_projects(context: QueryContext) -> ProjectList:
    """Return the projects of sessions that are not hidden, last active first."""
    activities_by_project: dict[str, list[FolderActivity]] = {}
    for activity in context.reader.projects.list_folders():
        if activity.sessions:
            activities_by_project.setdefault(activity.folder.project, []).append(
                activity
            )
    root_commits = {
        repository.path: repository.root_commit
        for repository in context.reader.projects.list_repositories()
    }
    user_links = load_links(context.paths.links_file).links
    states = []
    for path, activities in activities_by_project.items():
        similar = [
            other
            for other in activities_by_project
            if other != path
            and root_commits.get(path)
            and root_commits[path] == root_commits.get(other)
        ]
        states.append(_make_state(path, activities, user_links, similar))
    states.sort(key=lambda state: (state.last_active_at, state.path), reverse=True)
    return ProjectList([_redact(state, context) for state in states])


def _make_state(
    path: str,
    activities: Iterable[FolderActivity],
    user_links: dict[str, str],
    similar: list[str],
) -> ProjectState:
    """Return the state of the project with this path from its working directories.

    `user_links` maps the paths that the user linked to a project; leslied made the
    other links. `similar` are projects with the same first commit.
    """
    activities = list(activities)
    folders = [activity.folder for activity in activities]
    repositories = {folder.repository for folder in folders}
    worktrees = {f.worktree for f in folders if f.worktree not in ("", f.repository)}
    return ProjectState(
        path=path,
        exists=os.path.lexists(path),
        sessions=sum(activity.sessions for activity in activities),
        last_active_at=from_us(max(each.last_active_us for each in activities)),
        folders=[folder.path for folder in folders],
        worktrees=sorted(worktrees),
        links=[
            ProjectLink(each, automatic=each not in user_links)
            for each in sorted(repositories - {path})
        ],
        similar=sorted(similar),
    )


def _redact(state: ProjectState, context: QueryContext) -> ProjectState:
    redact = context.redact
    return state._replace(
        path=redact(state.path),
        folders=[*map(redact, state.folders)],
        worktrees=[*map(redact, state.worktrees)],
        links=[link._replace(path=redact(link.path)) for link in state.links],
        similar=[*map(redact, state.similar)],
    )


def resolve_project(text: str, home: Path) -> str:
    """Return a project's name unchanged, and a path as an absolute path.

    A path in a linked working tree is replaced by that of its repository, because
    sessions may have worked only in other working trees.
    """
    path = resolve_path_or_name(text, home)
    repository = find_repository(path)
    is_linked = repository is not None and repository.worktree != repository.main
    return str(repository.main) if repository and is_linked else path


def get_link_target(context: QueryContext, text: str) -> str:
    """Return the project of an existing folder, or the one that another text names."""
    path = resolve_project(text, context.home)
    if path.startswith("/") and Path(path).is_dir():
        repository = find_repository(path)
        return str(repository.main) if repository else path
    return get_project_path(context, text)


def get_project_path(context: QueryContext, text: str) -> str:
    """Return the path of the project that the text names.

    The text is a name, or a path in or below the project. An earlier path of a project
    is returned as it is. Raise UserError if no session worked there, or if several
    projects have the name.
    """
    name_or_path = resolve_project(text, context.home)
    folders = [each.folder for each in context.reader.projects.list_folders()]
    paths = {path for f in folders for path in (f.repository, f.project)}
    if not name_or_path.startswith("/"):
        matches = sorted(p for p in paths if p.rpartition("/")[2] == name_or_path)
    else:
        path_and_parents = {name_or_path, *map(str, Path(name_or_path).parents)}
        containing_worktrees = [
            f.worktree for f in folders if f.worktree in path_and_parents
        ]
        # Each is a prefix of the same path, so the greatest text is the longest.
        innermost = max(containing_worktrees, default=name_or_path)
        repositories = [f.repository for f in folders if f.worktree == innermost]
        matches = repositories[:1] or [*({name_or_path} & paths)]
    if not matches:
        raise UserError(f"No session worked in {text}.", _LIST_HINT)
    if len(matches) > 1:
        raise UserError(
            f"Several projects are named {text}: {', '.join(matches)}.",
            "Give the path instead.",
        )
    return matches[0]
