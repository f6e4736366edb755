"""The projects stage: find the project of each working directory.

New working directories are looked up at once, known ones again in turn. The first
commit of a repository, by which a moved one is recognised, takes longer to find: the
history is followed only while no log changes, and only some commits in each run.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from leslied.errors import UserError
from leslied.model.project import ProjectFolder, Repository
from leslied.pipeline.root_learning import find_project_logs
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


@dataclass(slots=True, kw_only=True)
class ProjectsReport(Report):
    """Counts and errors of one run."""

    folders: int = 0
    """Working directories that got another project."""
    moved: dict[str, str] = field(default_factory=dict)
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


@dataclass(slots=True, eq=False, repr=False)
class _Memory:
    """What the stage remembers between runs."""

    last_path: str = ""
    """The working directory that was looked up again last."""
    links_stamp: tuple[int, int] | None = None
    """Time and size of the file of links; None before the first run."""
    pending: dict[str, None] = field(default_factory=dict)
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
        """Take over what was looked up and what is still to be found."""
        for name in _Memory.__slots__:
            setattr(self.memory, name, getattr(previous.memory, name))

    def run(self, budget: Budget = FULL_BUDGET) -> ProjectsReport:
        """Find the projects of new working directories, and of some known ones."""
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
        """Look up working directories, and apply links to all of them."""
        with self.store.projects() as ledger:
            old_folders = {each.path: each for each in ledger.list_folders()}
            old_repositories = {each.path: each for each in ledger.list_repositories()}
        checked = self._select_known(list(old_folders)) if is_scan else []
        looked_up = {
            path: self._look_up(path, old_folders.get(path))
            for path in (*new_paths, *checked)
        }
        repositories = old_repositories | {
            path: _identify(path, old_repositories.get(path))
            for path in {
                each.repository for each in looked_up.values() if each.worktree
            }
        }
        if is_scan or looked_up:
            self._queue(repositories.values())
        repositories = self._link_moved(repositories, report)
        links = self._load_links(report)
        folders = _apply_links((old_folders | looked_up).values(), repositories, links)
        changed = [each for each in folders if each != old_folders.get(each.path)]
        report.folders += len(changed)
        report.has_new_logs |= self._has_logs(looked_up[path] for path in new_paths)
        with self.store.projects() as ledger:
            ledger.save_folders(changed)
            ledger.save_repositories(
                each
                for each in repositories.values()
                if each != old_repositories.get(each.path)
            )

    def _has_logs(self, folders: Iterable[ProjectFolder]) -> bool:
        """Return whether a project contains a log of an agent."""
        paths = [path for each in folders for path in each.log_folders]
        return any(find_project_logs(paths, name) for name in self.log_names)

    def _select_known(self, paths: list[str]) -> list[str]:
        """Return the known working directories whose turn it is."""
        later = [path for path in paths if path > self.memory.last_path]
        selected = (later or paths)[:_MAX_CHECKED_FOLDERS]
        self.memory.last_path = selected[-1] if selected else ""
        return selected

    def _look_up(self, path: str, previous: ProjectFolder | None) -> ProjectFolder:
        """Return the repository of a working directory.

        What is known about a working tree stays when the working tree is removed. The
        home folder is not a project, even if it is a repository.
        """
        found = git.find_repository(path)
        if found and found.worktree in (self.home, Path("/")):
            found = None
        if previous and previous.worktree:
            is_removed = not os.path.lexists(previous.worktree)
            if is_removed or found is None:
                return previous
        if found is None:
            return ProjectFolder(path, "", path)
        return ProjectFolder(path, str(found.worktree), str(found.main))

    def _queue(self, repositories: Iterable[Repository]) -> None:
        """Queue the repositories whose first commit is not known yet."""
        for repository in repositories:
            if not repository.root_commit and repository.walked >= 0:
                self.memory.pending.setdefault(repository.path)

    def _link_moved(
        self, repositories: Mapping[str, Repository], report: ProjectsReport
    ) -> dict[str, Repository]:
        """Return the repositories, each with the path to which it was moved."""
        moves = find_moves(repositories.values(), os.path.lexists)
        linked = {}
        for path, repository in repositories.items():
            target = moves.get(path, "")
            # A repository that was moved on stays linked while both paths are gone.
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
        """Follow the histories of queued repositories; return if one has ended."""
        if not self.memory.pending:
            return False
        with self.store.projects() as ledger:
            known = {each.path: each for each in ledger.list_repositories()}
        remaining = _MAX_COMMITS_PER_RUN
        walked: list[Repository] = []
        while self.memory.pending and remaining > 0:
            path = next(iter(self.memory.pending))
            repository = _walk(known[path], remaining) if path in known else None
            if repository:
                remaining -= max(1, repository.walked - known[path].walked)
                walked.append(repository)
            if not repository or repository.root_commit or repository.walked < 0:
                del self.memory.pending[path]
        with self.store.projects() as ledger:
            ledger.save_repositories(walked)
        return any(each.root_commit for each in walked)


def _identify(path: str, previous: Repository | None) -> Repository:
    """Return the repository with what identifies it now; as before if it is gone."""
    known = previous or Repository(path=path)
    git_dir = git.find_git_dir(Path(path))
    if git_dir is None:
        return known
    directory_id = git.get_directory_id(git_dir)
    if known.directory_id not in ("", directory_id):
        known = Repository(path=path)  # Another repository has its place.
    return structs.replace(
        known, directory_id=directory_id, remote=git.read_remote(git_dir)
    )


def _walk(repository: Repository, limit: int) -> Repository | None:
    """Return the repository with the commit reached; None if it has no commit."""
    git_dir = git.find_git_dir(Path(repository.path))
    start = repository.walk_commit or (git.read_head(git_dir) if git_dir else "")
    if git_dir is None or not start:
        return None
    try:
        walk = walk_first_parents(git_dir, start, limit)
    except ObjectError:
        return structs.replace(repository, walked=-1)
    walked = repository.walked + walk.commits
    if walk.is_first:
        return structs.replace(
            repository, root_commit=walk.commit, walk_commit="", walked=walked
        )
    walked = walked if walked < MAX_COMMITS else -1
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
