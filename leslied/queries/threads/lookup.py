"""Threads: lookup by id, the folders that hold their `.leslie`, and trees."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.errors import LesliedError, UserError
from leslied.layout import LESLIE_FOLDER, THREADS_FOLDER, is_thread_id
from leslied.queries.resolve import resolve_id
from leslied.queries.sessions import list_sessions
from leslied.sinks import OutputPolicy, find_project
from leslied.threads.relations import read_relations
from leslied.threads.tree import ThreadNode, build_tree, render_dot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.queries.context import QueryContext

__all__ = [
    "ProjectThreads",
    "ThreadList",
    "ThreadLocation",
    "ThreadNode",
    "find_project",
    "get_latest_thread",
    "get_thread",
    "list_threads",
    "load_thread_trees",
    "render_graph",
]


class ProjectThreads(NamedTuple):
    """The threads of a project, as trees or as a flat list."""

    base: Path
    """The folder that holds the project's `.leslie`."""
    threads: list[ThreadNode]

    def to_dict(self, *, is_flat: bool = False) -> dict[str, Any]:
        """Return the JSON form; in a flat list, forks are listed by id."""
        threads = [asdict(node) for node in self.threads]
        if is_flat:
            threads = [
                {**thread, "children": [child["id"] for child in thread["children"]]}
                for thread in threads
            ]
        return {"project": str(self.base), "threads": threads}


class ThreadList(NamedTuple):
    """The threads of projects, as trees or as flat lists."""

    projects: list[ProjectThreads]
    is_flat: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        projects = [each.to_dict(is_flat=self.is_flat) for each in self.projects]
        return {"projects": projects}


NO_FILES_HINT = (
    "Files are written when a turn ends. If the session is older than the store, run: "
    "leslied sync --stop-all"
)
"""The hint about a thread without files; `leslied sync` leaves out old sessions."""


class ThreadLocation(NamedTuple):
    """A thread and the folder that holds its `.leslie`."""

    thread_id: str
    base: Path


def list_base_folders(context: QueryContext, folder: Path) -> list[Path]:
    """Return the folder of a project, and its folder in the central tree.

    The project is the one that contains `folder`. Folders without a `.leslie` are left
    out.
    """
    policy = OutputPolicy(
        home=context.home, central=context.paths.central_dir, redact=context.redact
    )
    project = find_project(str(folder)) or folder
    candidates = [project, policy.choose_central(str(folder)).folder]
    return [base for base in candidates if (base / LESLIE_FOLDER).is_dir()]


def list_all_base_folders(context: QueryContext) -> list[Path]:
    """Return every folder that holds threads."""
    folders = {session.folder for session in context.reader.list_sessions()}
    return [Path(folder) for folder in sorted(folders - {""})]


def get_thread(context: QueryContext, id_prefix: str, folder: Path) -> ThreadLocation:
    """Return the thread with this id or prefix.

    A full id is looked up in the project of `folder` first and then in the store, a
    prefix the other way round.

    Raise LesliedError if no thread or several threads match.
    """
    local_threads = [
        ThreadLocation(thread_id, base)
        for base in list_base_folders(context, folder)
        for thread_id in _list_thread_ids(base)
    ]
    exact_matches = [
        location for location in local_threads if location.thread_id == id_prefix
    ]
    if exact_matches:
        return exact_matches[0]
    try:
        return _get_stored_thread(context, id_prefix)
    except LesliedError:
        matches = [
            location
            for location in local_threads
            if id_prefix and location.thread_id.startswith(id_prefix)
        ]
        if len(matches) == 1:
            return matches[0]
        raise


def get_latest_thread(context: QueryContext, folder: Path) -> ThreadLocation:
    """Return the most recently active thread of the folder's project.

    Raise UserError if the project has no thread.
    """
    bases = list_base_folders(context, folder)
    if context.paths.store_file.exists():
        for session in list_sessions(context.reader):
            if session.folder and Path(session.folder) in bases:
                return ThreadLocation(session.thread_id, Path(session.folder))
    for base in bases:
        threads = read_relations(base)["threads"].values()
        candidates = [
            (t.get("updated_at") or t["created_at"], t["id"]) for t in threads
        ]
        if candidates:
            return ThreadLocation(max(candidates)[1], base)
    raise UserError(
        f"There is no thread in {folder}.",
        "Name a thread: leslied context THREAD. List them with: leslied threads list",
    )


def _get_stored_thread(context: QueryContext, id_prefix: str) -> ThreadLocation:
    session = resolve_id(context.reader, id_prefix).session
    if not session.folder:
        raise UserError(f"Thread {session.thread_id} has no files yet.", NO_FILES_HINT)
    return ThreadLocation(session.thread_id, Path(session.folder))


def _list_thread_ids(base: Path) -> list[str]:
    folder = base / THREADS_FOLDER
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names |= read_relations(base)["threads"].keys()
    return sorted(filter(is_thread_id, names))


def load_thread_trees(context: QueryContext, project: Path | None) -> ThreadList:
    """Return the threads of a project, with forks below their parents.

    Without `project`, use that of the working directory; if it has no `.leslie`,
    return the threads of all projects.
    """
    bases = list_base_folders(context, (project or Path.cwd()).resolve())
    if not bases and not project:
        bases = list_all_base_folders(context)
    trees = [
        ProjectThreads(
            Path(context.redact(str(base))), build_tree(read_relations(base))
        )
        for base in bases
    ]
    for node in _walk_trees(trees):
        node.title = context.redact(node.title)
        node.objective = context.redact(node.objective)
        node.session_id = context.redact(node.session_id)
    return ThreadList([tree for tree in trees if tree.threads])


def list_threads(context: QueryContext, project: Path | None) -> ThreadList:
    """Return the threads of `load_thread_trees` as flat lists, last changed first.

    The project with the most recently changed thread comes first.
    """
    projects = [
        ProjectThreads(
            tree.base,
            sorted(
                _walk_trees([tree]),
                key=lambda node: (node.updated_at, node.id),
                reverse=True,
            ),
        )
        for tree in load_thread_trees(context, project).projects
    ]
    projects.sort(key=lambda each: each.threads[0].updated_at, reverse=True)
    return ThreadList(projects, is_flat=True)


def render_graph(trees: ThreadList) -> str:
    """Return the threads as a Graphviz graph."""
    return render_dot([root for tree in trees.projects for root in tree.threads])


def _walk_trees(trees: Iterable[ProjectThreads]) -> Iterator[ThreadNode]:
    for tree in trees:
        for root in tree.threads:
            yield from root.walk()
