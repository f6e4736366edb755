"""The projects stage: find the project of each working directory.

New working directories are looked up at once, known ones again in turn. A repository
that was moved is recognised by its first commit, which takes longer to find: the
history is followed only while no log changes, and only some commits in each run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from leslied.errors import UserError
from leslied.model.project import ProjectFolder, Repository
from leslied.pipeline.root_learning import find_folders_with_log
from leslied.pipeline.stage import FULL_BUDGET, LogEvent, Report, Stage
from leslied.projects import git
from leslied.projects.git_objects import MAX_COMMITS, ObjectError, walk_first_parents
from leslied.projects.identity import find_moves, follow_links
from leslied.projects.links import ProjectLinks, load_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import Store

_MAX_CHECKED_FOLDERS = 100
"""Known working directories that a full scan looks up again, in turn."""
_MAX_COMMITS_PER_RUN = 2000
"""Commits that are followed in one run; they take about 0.1 seconds."""
_NOT_FOUND = -1
"""Value of `Repository.walked` if the first commit cannot be found."""


class ProjectsReport(Report, kw_only=True):
    """Counts and errors of one run."""

    folders: int = 0
    """Working directories that got another project."""
    moved: dict[str, str] = msgspec.field(default_factory=dict)
    """Old and new path of repositories that were certainly moved."""
    has_new_logs: bool = False
    """Whether a new project contains a log of an agent."""

    event = "projects.update"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"folders": self.folders}

    @property
    def needs_reload(self) -> bool:
        """Return whether there are new folders to read."""
        return self.has_new_logs

    def list_events(self) -> Iterator[LogEvent]:
        """Yield everything that the daemon logs, with each repository that moved."""
        yield from Report.list_events(self)
        for old, new in self.moved.items():
            yield LogEvent("project.link", {"old": old, "new": new}, is_warning=False)


class _Memory(msgspec.Struct, eq=False):
    """What the stage remembers between runs."""

    last_path: str = ""
    """The working directory that was looked up again last."""
    links_stamp: tuple[int, int] | None = None
    """Time and size of the file of links; None before the first run."""
    pending: dict[str, None] = msgspec.field(default_factory=dict)
    """Repositories whose first commit is to be found."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class ProjectStage(Stage):
    """The projects stage."""

    store: Store
    home: Path
    links_file: Path
    log_names: tuple[str, ...] = ()
    """Names of the logs that agents keep in projects."""
    memory: _Memory = field(default_factory=_Memory)
    name = "projects"

    @classmethod
    def make(cls, context: StageContext) -> ProjectStage:
        """Make the stage."""
        return cls(
            store=context.store,
            home=context.home,
            links_file=context.paths.links_file,
            log_names=tuple(
                adapter.project_log
                for adapter, _ in context.agents
                if adapter.project_log
            ),
        )

    def adopt(self, previous: ProjectStage) -> None:
        """Take over the memory of the stage object that this one replaces."""
        for name in _Memory.__struct_fields__:
            setattr(self.memory, name, getattr(previous.memory, name))

    def run(self, budget: Budget = FULL_BUDGET) -> ProjectsReport:
        """Find the projects of new working directories; a scan also checks others."""
        report = ProjectsReport()
        with self.store.projects() as ledger:
            paths = ledger.list_new_folders()
        stamp = _get_stamp(self.links_file)
        has_new_links = stamp != self.memory.links_stamp
        self.memory.links_stamp = stamp
        if paths or has_new_links or budget.is_scan:
            self._update(paths, report, is_scan=budget.is_scan)
        if not budget.changed_paths and self._find_root_commits():
            self._update([], report)
        report.has_more = bool(self.memory.pending)
        return report

    def _update(
        self, new_paths: list[str], report: ProjectsReport, *, is_scan: bool = False
    ) -> None:
        """Look up new working directories, apply links to all, and save what changed.

        A scan also looks up some known directories again.
        """
        with self.store.projects() as ledger:
            old_folders = {each.path: each for each in ledger.list_folders()}
            old_repositories = {each.path: each for each in ledger.list_repositories()}
        old_paths = self._choose_folders_to_check(list(old_folders)) if is_scan else []
        current_folders = {
            path: self._look_up(path, old_folders.get(path))
            for path in (*new_paths, *old_paths)
        }
        repositories = old_repositories | {
            path: _identify(path, old_repositories.get(path))
            for path in {
                each.repository for each in current_folders.values() if each.worktree
            }
        }
        if is_scan or current_folders:
            self._queue_searches(repositories.values())
        repositories = self._link_moved(repositories, report)
        links = self._load_links(report)
        all_folders = (old_folders | current_folders).values()
        folders = _apply_links(all_folders, repositories, links)
        changed = [each for each in folders if each != old_folders.get(each.path)]
        report.folders += len(changed)
        new_folders = (current_folders[path] for path in new_paths)
        report.has_new_logs |= self._has_logs(new_folders)
        with self.store.projects() as ledger:
            ledger.save_folders(changed)
            ledger.save_repositories(
                each
                for each in repositories.values()
                if each != old_repositories.get(each.path)
            )

    def _has_logs(self, folders: Iterable[ProjectFolder]) -> bool:
        """Return whether one of the folders has a project with a log of an agent."""
        paths = [path for each in folders for path in each.log_folders]
        return any(find_folders_with_log(paths, name) for name in self.log_names)

    def _choose_folders_to_check(self, paths: list[str]) -> list[str]:
        """Return the paths that follow those chosen last; at the end, start again."""
        later = [path for path in paths if path > self.memory.last_path]
        selected = (later or paths)[:_MAX_CHECKED_FOLDERS]
        self.memory.last_path = selected[-1] if selected else ""
        return selected

    def _look_up(self, path: str, previous: ProjectFolder | None) -> ProjectFolder:
        """Return a working directory with the repository in which it is now.

        A directory keeps its repository when the working tree is removed, or when it is
        in no repository any more. The home folder is not a project, even if it is a
        repository.
        """
        repository = git.find_repository(path)
        if repository and repository.worktree in (self.home, Path("/")):
            repository = None
        if previous and previous.worktree:
            is_removed = not os.path.lexists(previous.worktree)
            if is_removed or repository is None:
                return previous
        if repository is None:
            return ProjectFolder(path, "", path)
        return ProjectFolder(path, str(repository.worktree), str(repository.main))

    def _queue_searches(self, repositories: Iterable[Repository]) -> None:
        """Queue the repositories whose first commit is still to be found."""
        for repository in repositories:
            if not repository.root_commit and repository.walked != _NOT_FOUND:
                self.memory.pending.setdefault(repository.path)

    def _link_moved(
        self, repositories: Mapping[str, Repository], report: ProjectsReport
    ) -> dict[str, Repository]:
        """Return the repositories, each with the path to which it was moved."""
        moves = find_moves(repositories.values(), os.path.lexists)
        linked = {}
        for path, repository in repositories.items():
            target = moves.get(path, "")
            # Keep the link of a repository if the path it was moved to is gone, too.
            if not target and not os.path.lexists(path):
                target = repository.linked_to
            if target and target != repository.linked_to:
                report.moved[path] = target
            linked[path] = structs.replace(repository, linked_to=target)
        return linked

    def _load_links(self, report: ProjectsReport) -> ProjectLinks:
        try:
            return load_links(self.links_file)
        except UserError as error:
            report.errors["links"] = error.message
            return ProjectLinks()

    def _find_root_commits(self) -> bool:
        """Follow the histories of queued repositories; save the commits reached.

        Return whether the first commit of one was found.
        """
        if not self.memory.pending:
            return False
        with self.store.projects() as ledger:
            stored = {each.path: each for each in ledger.list_repositories()}
        remaining = _MAX_COMMITS_PER_RUN
        updated: list[Repository] = []
        while self.memory.pending and remaining > 0:
            path = next(iter(self.memory.pending))
            repository = _walk(stored[path], remaining) if path in stored else None
            if repository:
                remaining -= max(1, repository.walked - stored[path].walked)
                updated.append(repository)
            if (
                not repository
                or repository.root_commit
                or repository.walked == _NOT_FOUND
            ):
                del self.memory.pending[path]
        with self.store.projects() as ledger:
            ledger.save_repositories(updated)
        return any(each.root_commit for each in updated)


def _identify(path: str, previous: Repository | None) -> Repository:
    """Return the repository with its current id and remote; as before if it is gone."""
    repository = previous or Repository(path=path)
    git_dir = git.find_git_dir(Path(path))
    if git_dir is None:
        return repository
    directory_id = git.get_directory_id(git_dir)
    if repository.directory_id not in ("", directory_id):
        repository = Repository(path=path)  # Another repository is at this path now.
    return structs.replace(
        repository, directory_id=directory_id, remote=git.read_remote(git_dir)
    )


def _walk(repository: Repository, limit: int) -> Repository | None:
    """Follow a repository's history for `limit` commits; return the repository updated.

    Return None if it has no commit.
    """
    git_dir = git.find_git_dir(Path(repository.path))
    start = repository.walk_commit or (git.read_head(git_dir) if git_dir else "")
    if git_dir is None or not start:
        return None
    try:
        walk = walk_first_parents(git_dir, start, limit)
    except ObjectError:
        return structs.replace(repository, walked=_NOT_FOUND)
    walked = repository.walked + walk.commits
    if walk.is_first:
        return structs.replace(
            repository, root_commit=walk.commit, walk_commit="", walked=walked
        )
    walked = walked if walked < MAX_COMMITS else _NOT_FOUND
    return structs.replace(repository, walk_commit=walk.commit, walked=walked)


def _apply_links(
    folders: Iterable[ProjectFolder],
    repositories: Mapping[str, Repository],
    user_links: ProjectLinks,
) -> list[ProjectFolder]:
    """Return the working directories, each with its project."""
    links = {
        path: repository.linked_to
        for path, repository in repositories.items()
        if repository.linked_to and path not in user_links.separate
    }
    links |= user_links.links
    return [
        structs.replace(each, project=follow_links(each.repository, links))
        for each in folders
    ]


def _get_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
