"""The threads of all projects as trees, each with its progress and assets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from leslied.layout import INDEX_FILE
from leslied.threads.assets import read_text
from leslied.threads.operations import make_objective_id
from leslied.threads.relations import read_relations
from leslied.threads.tree import build_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.queries.context import QueryContext
    from leslied.store.read.project_queries import ThreadFolder
    from leslied.threads.tree import ThreadNode

_MAX_FOLDERS = 200
"""Folders whose threads are read, the last active ones first."""
_MAX_INDEX_BYTES = 4 * 1024 * 1024


class ProgressCounts(Struct, frozen=True):
    """How many items of a thread's progress file are in each state."""

    percent: int | None = None
    """Percentage that the file states, else of the done items; None without items."""
    done: int = 0
    open: int = 0
    blocked: int = 0


class _IndexedAsset(Struct, frozen=True):
    type: str
    files: int = 1


class _IndexedThread(Struct, frozen=True):
    """The fields of a thread in a project's index that the overview shows."""

    id: str
    agent: str = ""
    assets: list[_IndexedAsset] = []
    progress: ProgressCounts | None = None


class _Index(Struct, frozen=True):
    threads: list[_IndexedThread] = []


class ThreadSummary(Struct, frozen=True, kw_only=True):
    """A thread with its forks."""

    id: str
    title: str
    status: str
    objective: str
    """What the thread is for; empty if nobody gave it an objective."""
    created_at: str
    updated_at: str
    session_id: str
    agent: str
    references_to: list[str]
    subagents: int
    assets: dict[str, int]
    """Number of files by type of asset."""
    progress: ProgressCounts | None
    children: list[ThreadSummary]

    def walk(self) -> Iterator[ThreadSummary]:
        """Yield the thread itself and all its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()


class ProjectThreadTree(NamedTuple):
    """The threads of one project; threads without a parent are roots."""

    project: str
    base: str
    """The folder that holds the project's `.leslie`."""
    threads: list[ThreadSummary]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**self._asdict(), "threads": msgspec.to_builtins(self.threads)}


class ThreadOverview(NamedTuple):
    """The threads of all projects, the last active project first."""

    projects: list[ProjectThreadTree]
    total: int
    """Number of threads."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        projects = [project.to_dict() for project in self.projects]
        return {"projects": projects, "total": self.total}


def load_thread_overview(context: QueryContext) -> ThreadOverview:
    """Return the threads of all projects."""
    folders = context.reader.projects.list_thread_folders()[:_MAX_FOLDERS]
    trees = [_load_tree(context, folder) for folder in folders]
    projects = [tree for tree in trees if tree.threads]
    threads = (root for tree in projects for root in tree.threads)
    total = sum(1 for root in threads for _ in root.walk())
    return ThreadOverview(projects, total)


def _load_tree(context: QueryContext, folder: ThreadFolder) -> ProjectThreadTree:
    base = Path(folder.path)
    index = {thread.id: thread for thread in _load_index(base).threads}
    roots = build_tree(read_relations(base))
    tree = ProjectThreadTree(
        project=folder.project,
        base=folder.path,
        threads=[_summarize(node, index) for node in _sort_roots(roots)],
    )
    return context.redact_value(tree)


def _sort_roots(roots: Iterable[ThreadNode]) -> list[ThreadNode]:
    """Return the roots, the newest first."""
    return sorted(roots, key=lambda node: (node.created_at, node.id), reverse=True)


def _load_index(base: Path) -> _Index:
    """Return the index of a project; an empty one if it is missing or damaged."""
    text = read_text(base, INDEX_FILE, _MAX_INDEX_BYTES)
    try:
        return msgspec.json.decode(text or "{}", type=_Index)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _Index()


def _summarize(node: ThreadNode, index: dict[str, _IndexedThread]) -> ThreadSummary:
    indexed_thread = index.get(node.id) or _IndexedThread(node.id)
    assets: dict[str, int] = {}
    for asset in indexed_thread.assets:
        assets[asset.type] = assets.get(asset.type, 0) + asset.files
    has_default_objective = node.objective == make_objective_id(node.id)
    return ThreadSummary(
        id=node.id,
        title=node.title,
        status=node.status,
        objective="" if has_default_objective else node.objective,
        created_at=node.created_at,
        updated_at=node.updated_at,
        session_id=node.session_id,
        agent=indexed_thread.agent,
        references_to=node.references_to,
        subagents=node.subagents,
        assets=assets,
        progress=indexed_thread.progress,
        children=[_summarize(child, index) for child in node.children],
    )
