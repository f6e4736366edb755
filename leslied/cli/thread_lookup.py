"""From a word on the command line to a thread, and the folder its `.leslie` is in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leslied.errors import LesliedError, UserError
from leslied.lookup import list_sessions, resolve_id
from leslied.sinks import OutputPolicy, find_project
from leslied.threads.layout import THREADS_FOLDER, is_thread_id
from leslied.threads.relations import read_relations

if TYPE_CHECKING:
    from leslied.cli.app import App


class ThreadLocation(NamedTuple):
    """A thread and the folder that holds its `.leslie`."""

    thread_id: str
    base: Path


def list_base_folders(app: App, folder: Path) -> list[Path]:
    """Where threads of the folder's project stand: there, and in the central tree."""
    policy = OutputPolicy(home=app.home, central=app.paths.central_dir)
    project = find_project(str(folder)) or folder
    candidates = [project, policy.choose_central(str(folder)).folder]
    return [base for base in candidates if (base / ".leslie").is_dir()]


def list_all_base_folders(app: App) -> list[Path]:
    """Every folder that holds threads."""
    with app.open_reader() as reader:
        folders = {session.folder for session in reader.list_sessions()}
    return [Path(folder) for folder in sorted(folders - {""})]


def get_thread(app: App, id_prefix: str, folder: Path) -> ThreadLocation:
    """The thread of this id, or beginning of one; here first, then anywhere."""
    here = [
        ThreadLocation(thread_id, base)
        for base in list_base_folders(app, folder)
        for thread_id in _list_thread_ids(base)
    ]
    exact = [place for place in here if place.thread_id == id_prefix]
    if exact:
        return exact[0]
    try:
        return _get_stored_thread(app, id_prefix)
    except LesliedError:
        begun = [
            place
            for place in here
            if id_prefix and place.thread_id.startswith(id_prefix)
        ]
        if len(begun) == 1:
            return begun[0]
        raise


def get_latest_thread(app: App, folder: Path) -> ThreadLocation:
    """The thread that was last active in the folder's project."""
    bases = list_base_folders(app, folder)
    if app.paths.store_file.exists():
        with app.open_reader() as reader:
            for session in list_sessions(reader):
                if session.folder and Path(session.folder) in bases:
                    return ThreadLocation(session.thread_id, Path(session.folder))
    for base in bases:
        threads = read_relations(base)["threads"].values()
        times = [(t.get("updated_at") or t["created_at"], t["id"]) for t in threads]
        if times:
            return ThreadLocation(max(times)[1], base)
    raise UserError(
        f"No thread has worked in {folder}.",
        "Name a thread: leslied context THREAD (see: leslied threads list)",
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
    named = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    named |= read_relations(base)["threads"].keys()
    return sorted(filter(is_thread_id, named))
