"""The files that agents changed: how often, in how many sessions, when last."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from leslied.agents import load_adapters
from leslied.model.codec import encode_time
from leslied.model.times import from_us

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.queries.context import QueryContext
    from leslied.store.read.file_queries import FileStream, StoredChange

FileOrder = Literal["recent", "changes", "path"]
MAX_GROUPS = 200
"""Projects or folders that are listed; those with the most files come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSelection:
    """Which files are listed, and in which order."""

    words: str = ""
    """Words that the path must contain, in any order and case."""
    project: str = ""
    """Path or name of the project; empty for all."""
    folder: str = ""
    """Absolute path of a folder; empty for all."""
    order: FileOrder = "recent"
    limit: int = 200


class ChangedFile(NamedTuple):
    """A file that agents changed; the field names are those of `--json`."""

    path: str
    """The absolute path."""
    name: str
    """The path below its project; outside of it, the absolute path."""
    project: str
    """The project of the session that changed it last."""
    changes: int
    """Number of calls that changed it."""
    failed: int
    """Number of calls that tried to change it, but failed or got no result."""
    sessions: int
    agents: list[str]
    last_at: str | None
    last_agent: str
    last_session: str
    is_deleted: bool
    """Whether the last change deleted it."""


class FileGroup(NamedTuple):
    """A project or folder with the number of its files."""

    path: str
    files: int


class FileList(NamedTuple):
    """The selected files, and the projects and folders by which to narrow them."""

    files: list[ChangedFile]
    total: int
    """Number of matching files, also beyond the limit."""
    projects: list[FileGroup]
    """Projects with matching files, whichever project is selected."""
    folder: str
    """The folder whose subfolders are listed; empty without a selected project."""
    folders: list[FileGroup]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "files": [file._asdict() for file in self.files],
            "total": self.total,
            "projects": [group._asdict() for group in self.projects],
            "folder": self.folder,
            "folders": [group._asdict() for group in self.folders],
        }


@dataclass(slots=True)
class _FileTotals:
    """The changes of one file, added up."""

    stream: FileStream
    changes: int = 0
    failed: int = 0
    last_us: int = -1
    """Time of the newest change, 0 if the log has no times; -1 before the first `add`.
    """
    is_deleted: bool = False
    sessions: set[tuple[str, str]] = field(default_factory=set)

    def add(self, change: StoredChange) -> None:
        """Count a change; the newest one decides whether the file is deleted."""
        key = change.stream.key
        self.sessions.add((key.agent, key.session_id))
        if change.outcome == "done":
            self.changes += 1
        else:
            self.failed += 1
        if change.created_us >= self.last_us:
            self.last_us, self.stream = change.created_us, change.stream
            self.is_deleted = change.kind == "delete" and change.outcome == "done"


def list_files(context: QueryContext, selection: FileSelection) -> FileList:
    """Return the selected files."""
    files = _sum_changes_by_path(list_changes(context))
    files = _filter_by_words(files, selection.words)
    projects = Counter(file.stream.project for file in files.values())
    selected_projects = _select_projects(context, projects, selection.project)
    if selection.project:
        files = {
            p: file
            for p, file in files.items()
            if file.stream.project in selected_projects
        }
    base = selection.folder.rstrip("/")
    # Without a selected folder, the folders of the selected project are counted.
    if not base and len(selected_projects) == 1:
        (base,) = selected_projects
    folders = _count_folders(files, base) if base else Counter()
    if selection.folder:
        files = {p: file for p, file in files.items() if p.startswith(f"{base}/")}
    paths = _sort_paths(files, selection.order)[: selection.limit]
    return FileList(
        files=[_describe(context, path, files[path]) for path in paths],
        total=len(files),
        projects=_make_groups(context, projects),
        folder=context.redact(base),
        folders=_make_groups(context, folders),
    )


def list_changes(context: QueryContext) -> list[StoredChange]:
    """Return every change of a file."""
    # This registers the tools that only one agent has.
    load_adapters()
    return context.reader.files.list_changes()


def format_name(path: str, stream: FileStream) -> str:
    """Return a path below the session's project relative to it; others unchanged."""
    for folder in (stream.worktree, stream.project, stream.cwd):
        if folder and path.startswith(f"{folder}/"):
            return path.removeprefix(f"{folder}/")
    return path


def _sum_changes_by_path(changes: Iterable[StoredChange]) -> dict[str, _FileTotals]:
    files: dict[str, _FileTotals] = {}
    for change in changes:
        file = files.get(change.path)
        if file is None:
            file = files[change.path] = _FileTotals(change.stream)
        file.add(change)
    return files


def _filter_by_words(
    files: dict[str, _FileTotals], words: str
) -> dict[str, _FileTotals]:
    """Return the files whose path contains all words."""
    for word in words.lower().split():
        files = {path: file for path, file in files.items() if word in path.lower()}
    return files


def _select_projects(
    context: QueryContext, projects: Iterable[str], name_or_path: str
) -> set[str]:
    """Return the projects with this path or name; a path may be redacted."""
    if not name_or_path:
        return set()
    return {
        project
        for project in projects
        if name_or_path
        in (project, project.rpartition("/")[2], context.redact(project))
    }


def _count_folders(paths: Iterable[str], base: str) -> Counter[str]:
    """Count the files in each folder that is directly below the base."""
    prefix = f"{base}/"
    names = (
        path.removeprefix(prefix).partition("/")
        for path in paths
        if path.startswith(prefix)
    )
    return Counter(prefix + name for name, slash, _ in names if slash)


def _sort_paths(files: dict[str, _FileTotals], order: FileOrder) -> list[str]:
    match order:
        case "path":
            return sorted(files)
        case "changes":
            return sorted(
                files, key=lambda p: (-files[p].changes, -files[p].last_us, p)
            )
    return sorted(files, key=lambda p: (-files[p].last_us, p))


def _describe(context: QueryContext, path: str, file: _FileTotals) -> ChangedFile:
    key = context.redact_key(file.stream.key)
    return ChangedFile(
        path=context.redact(path),
        name=context.redact(format_name(path, file.stream)),
        project=context.redact(file.stream.project),
        changes=file.changes,
        failed=file.failed,
        sessions=len(file.sessions),
        agents=sorted({agent for agent, _ in file.sessions}),
        last_at=encode_time(from_us(file.last_us)) if file.last_us > 0 else None,
        last_agent=key.agent,
        last_session=key.session_id,
        is_deleted=file.is_deleted,
    )


def _make_groups(context: QueryContext, counts: Counter[str]) -> list[FileGroup]:
    return [
        FileGroup(context.redact(path), files)
        for path, files in counts.most_common(MAX_GROUPS)
    ]
