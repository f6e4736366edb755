"""Lookup of threads by id, and of the folders that hold their `.leslie`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leslied.errors import LesliedError, UserError
from leslied.layout import LESLIE_FOLDER, THREADS_FOLDER, is_thread_id
from leslied.queries import list_sessions, resolve_id
from leslied.sinks import OutputPolicy, find_project
from leslied.threads.relations import read_relations

if TYPE_CHECKING:
    from leslied.app import App


class ThreadLocation(NamedTuple):
    """A thread and the folder that holds its `.leslie`."""

    thread_id: str
    base: Path


def list_base_folders(app: App, folder: Path) -> list[Path]:
    """Return the folder of a project, and its folder in the central directory.

    The project is the one that contains `folder`. Folders without a `.leslie` are left
    out.
    """
    policy = OutputPolicy(home=app.home, central=app.paths.central_dir)
    project = find_project(str(folder)) or folder
    candidates = [project, policy.choose_central(str(folder)).folder]
    return [base for base in candidates if (base / LESLIE_FOLDER).is_dir()]


def list_all_base_folders(app: App) -> list[Path]:
    """Return every folder that holds threads."""
    with app.open_reader() as reader:
        folders = {session.folder for session in reader.list_sessions()}
    return [Path(folder) for folder in sorted(folders - {""})]


def get_thread(app: App, id_prefix: str, folder: Path) -> ThreadLocation:
    """Return the thread with this id or prefix.

    A full id is looked up in the project of `folder` first and then in the store, a
    prefix the other way round.

    Raises LesliedError if no thread or several threads match.
    """
    local_threads = [
        ThreadLocation(thread_id, base)
        for base in list_base_folders(app, folder)
        for thread_id in _list_thread_ids(base)
    ]
    exact_matches = [
        location for location in local_threads if location.thread_id == id_prefix
    ]
    if exact_matches:
        return exact_matches[0]
    try:
        return _get_stored_thread(app, id_prefix)
    except LesliedError:
        matches = [
            location
            for location in local_threads
            if id_prefix and location.thread_id.startswith(id_prefix)
        ]
        if len(matches) == 1:
            return matches[0]
        raise


def get_latest_thread(app: App, folder: Path) -> ThreadLocation:
    """Return the most recently active thread of the folder's project.

    Raises UserError if the project has no thread.
    """
    bases = list_base_folders(app, folder)
    if app.paths.store_file.exists():
        with app.open_reader() as reader:
            for session in list_sessions(reader):
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


def _get_stored_thread(app: App, id_prefix: str) -> ThreadLocation:
    with app.open_reader() as reader:
        session = resolve_id(reader, id_prefix).session
    if not session.folder:
        raise UserError(
            f"Thread {session.thread_id} has no files yet.", "Run: leslied sync"
        )
    return ThreadLocation(session.thread_id, Path(session.folder))


def _list_thread_ids(base: Path) -> list[str]:
    folder = base / THREADS_FOLDER
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    names |= read_relations(base)["threads"].keys()
    return sorted(filter(is_thread_id, names))
