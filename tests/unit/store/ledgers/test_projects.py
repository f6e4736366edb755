"""Test the ledger of working directories and repositories."""

from __future__ import annotations

from leslied.model.project import ProjectFolder, Repository
from leslied.store import Store
from tests.support.claude import ClaudeHome, ClaudeLogBuilder

FOLDER = ProjectFolder("/home/dev/app", "/home/dev/app", "/home/dev/app", "/new")


def sync(claude: ClaudeHome, *folders: str) -> None:
    for number, folder in enumerate(folders):
        session_id = f"{number}1111111-2222-4333-8444-555555555555"
        builder = ClaudeLogBuilder(session_id, folder)
        claude.write(builder.prompt("one"), name=f"-app/{session_id}.jsonl")
    claude.sync()


def test_each_working_directory_is_new_once(claude: ClaudeHome):
    sync(claude, "/b", "/a", "/a", "")

    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        assert ledger.list_new_folders() == ["/a", "/b"]
        ledger.save_folders([ProjectFolder("/a", "", "/a", "/a")])
        assert ledger.list_new_folders() == ["/b"]


def test_there_is_no_new_folder_in_an_empty_store(claude: ClaudeHome):
    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        assert ledger.list_new_folders() == []


def test_saved_folders_and_repositories_are_listed(claude: ClaudeHome):
    repository = Repository(path="/r", remote="example.org/r", walked=3)
    with Store(claude.store_path, claude.clock) as store, store.projects() as ledger:
        ledger.save_folders([FOLDER])
        ledger.save_repositories([Repository(path="/r")])
        ledger.save_repositories([repository])

        assert ledger.list_folders() == [FOLDER]
        assert ledger.list_repositories() == [repository]
