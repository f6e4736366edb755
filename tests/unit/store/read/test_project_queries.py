"""Test the queries over projects."""

from __future__ import annotations

from leslied.jobs import sync
from leslied.model.project import ProjectFolder, Repository
from leslied.model.times import to_us
from leslied.store import Store, StoreReader
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.queries import make_app
from tests.support.thread_home import write_thread_home
from tests.unit.queries.test_projects import NoProgress

LOOKED_UP = ProjectFolder("/app/src", "/app", "/app", "/app")


def write_sessions(claude: ClaudeHome, *folders: str) -> None:
    for number, folder in enumerate(folders):
        session_id = f"{number}1111111-2222-4333-8444-555555555555"
        builder = ClaudeLogBuilder(session_id, folder)
        claude.write(builder.prompt("one"), name=f"-app/{session_id}.jsonl")


def test_sessions_are_counted_by_working_directory(claude: ClaudeHome):
    write_sessions(claude, "/b", "/app/src", "/app/src")
    claude.sync()
    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        ledger.save_folders([LOOKED_UP])

    with StoreReader(claude.store_path) as reader:
        first, second = reader.projects.list_folders()
        (session, *_) = reader.list_sessions()

    assert (first.folder, first.sessions) == (LOOKED_UP, 2)
    assert (second.folder.project, second.sessions) == ("/b", 1)
    assert session.ended_at
    assert first.last_active_us == to_us(session.ended_at)


def test_repositories_are_listed(claude: ClaudeHome):
    repository = Repository(path="/app", root_commit="c1")
    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        ledger.save_repositories([repository])

    with StoreReader(claude.store_path) as reader:
        assert reader.projects.list_repositories() == [repository]


def test_thread_folders_name_the_project_of_their_last_session(claude: ClaudeHome):
    project = write_thread_home(claude)
    sync(make_app(claude), NoProgress(), stop_all=True)

    with StoreReader(claude.store_path) as reader:
        (folder,) = reader.projects.list_thread_folders()
    assert (folder.path, folder.project) == (str(project), str(project))
    assert folder.last_active_us > 0
