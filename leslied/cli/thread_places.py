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
    from leslied.cli.desk import Desk


class Place(NamedTuple):
    """A thread and the folder that holds its `.leslie`."""

    thread_id: str
    base: Path


def find_bases(desk: Desk, folder: Path) -> list[Path]:
    """Where threads of the folder's project stand: there, and in the central tree."""
    policy = OutputPolicy(home=desk.home, central=desk.places.central_dir)
    project = find_project(str(folder)) or folder
    places = [project, policy.choose_central(str(folder)).folder]
    return [base for base in places if (base / ".leslie").is_dir()]


def find_all_bases(desk: Desk) -> list[Path]:
    """Every folder that holds threads."""
    with desk.open_reader() as reader:
        folders = {session.folder for session in reader.list_sessions()}
    return [Path(folder) for folder in sorted(folders - {""})]


def find_thread(desk: Desk, wanted: str, folder: Path) -> Place:
    """The thread of this id, or beginning of one; here first, then anywhere."""
    here = [
        Place(thread_id, base)
        for base in find_bases(desk, folder)
        for thread_id in _list_threads(base)
    ]
    exact = [place for place in here if place.thread_id == wanted]
    if exact:
        return exact[0]
    try:
        return _find_stored(desk, wanted)
    except LesliedError:
        begun = [
            place for place in here if wanted and place.thread_id.startswith(wanted)
        ]
        if len(begun) == 1:
            return begun[0]
        raise


def find_latest(desk: Desk, folder: Path) -> Place:
    """The thread that was last active in the folder's project."""
    bases = find_bases(desk, folder)
    if desk.places.store_file.exists():
        with desk.open_reader() as reader:
            for session in list_sessions(reader):
                if session.folder and Path(session.folder) in bases:
                    return Place(session.thread_id, Path(session.folder))
    for base in bases:
        threads = read_relations(base)["threads"].values()
        times = [(t.get("updated_at") or t["created_at"], t["id"]) for t in threads]
        if times:
            return Place(max(times)[1], base)
    raise UserError(
        f"No thread has worked in {folder}.",
        "Name a thread: leslied context THREAD (see: leslied threads list)",
    )


def _find_stored(desk: Desk, wanted: str) -> Place:
    with desk.open_reader() as reader:
        session = resolve_id(reader, wanted).session
    if not session.folder:
        raise UserError(
            f"Thread {session.thread_id} has no files yet.", "Run: leslied sync"
        )
    return Place(session.thread_id, Path(session.folder))


def _list_threads(base: Path) -> list[str]:
    folder = base / THREADS_FOLDER
    named = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    named |= read_relations(base)["threads"].keys()
    return sorted(filter(is_thread_id, named))
