"""Describe which project a working directory belongs to."""

from __future__ import annotations

from msgspec import Struct


class ProjectFolder(Struct, frozen=True):
    """A working directory of sessions, and its project."""

    path: str
    worktree: str
    """The Git top level that contains it; empty without Git."""
    repository: str
    """The folder of its repository; without Git, the path itself."""
    project: str = ""
    """The repository, or the project it is linked to; lists and filters group by it."""

    @property
    def log_folders(self) -> tuple[str, ...]:
        """Folders in which an agent that works here may keep its log."""
        return (self.worktree, self.path) if self.worktree else (self.path,)


class Repository(Struct, frozen=True, kw_only=True):
    """A Git repository, and the facts that identify it after a move."""

    path: str
    directory_id: str = ""
    """Device and inode of its Git directory."""
    remote: str = ""
    """Host and path of its remote, without user names and passwords."""
    root_commit: str = ""
    """The first commit; empty while it is unknown."""
    walk_commit: str = ""
    """The commit that the search for the first commit has reached."""
    walked: int = 0
    """Number of commits that were searched; -1 if the first one cannot be found."""
    linked_to: str = ""
    """Where the repository was moved to, if that is certain."""
