"""Files that leslied wrote about threads are deleted; those of others stay."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from leslied.clock import Clock
from leslied.errors import UserError
from leslied.layout import (
    INDEX_PAGE,
    RELATIONS_BACKUP,
    RELATIONS_FILE,
    thread_folder,
)
from leslied.literal_text import LiteralText
from leslied.pipeline.maintenance.thread_files import ThreadFiles
from leslied.store.read.forget_queries import SessionThreadFolder
from leslied.threads.operations import upsert_threads
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.support.clock import FakeClock
from tests.support.git import git

TIME = "2026-11-16T10:00:00.000Z"
TRANSCRIPT = ".meta/transcripts/20261116-1000-task.txt"


class ThreadTree:
    """A project with two threads."""

    def __init__(self, base: Path, clock: Clock) -> None:
        self.base = base
        self.files = ThreadFiles(central=base.parent / "central", clock=clock)
        for name in ("thread-a", "thread-b"):
            self.write(f"{thread_folder(name)}/{TRANSCRIPT}", name)
            self.write(f"{thread_folder(name)}/.meta/assets.json", f"of {name}")
            self.write(f"{thread_folder(name)}/plan.md", "of the agent")
        self.write(INDEX_PAGE, "thread-a and thread-b")
        data = make_empty_relations()
        upsert_threads(data, [make_thread("thread-a"), make_thread("thread-b")], TIME)
        for name in (RELATIONS_FILE, RELATIONS_BACKUP):
            self.write(name, encode_relations(data).decode())

    def write(self, name: str, text: str) -> None:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def thread(self, thread_id: str) -> SessionThreadFolder:
        return SessionThreadFolder(
            "claude-code", "s", thread_id, os.fsencode(self.base)
        )

    def exists(self, thread_id: str, name: str) -> bool:
        return (self.base / thread_folder(thread_id) / name).exists()

    def related_threads(self, name: str) -> list[str]:
        return sorted(json.loads((self.base / name).read_text())["threads"])


def make_thread(thread_id: str) -> dict[str, object]:
    return {
        "id": thread_id,
        "session_id": f"session of {thread_id}",
        "title": f"title of {thread_id}",
        "status": "completed",
        "created_at": TIME,
        "metadata": {},
        "parent_id": None,
    }


@pytest.fixture
def tree(tmp_path: Path, clock: FakeClock) -> ThreadTree:
    return ThreadTree(tmp_path / "project", clock)


def test_everything_that_leslied_wrote_about_a_thread_is_removed(tree: ThreadTree):
    tree.files.remove(tree.thread("thread-a"))

    assert not tree.exists("thread-a", ".meta")
    assert tree.exists("thread-a", "plan.md")
    assert tree.exists("thread-b", TRANSCRIPT)
    assert tree.related_threads(RELATIONS_FILE) == ["thread-b"]
    assert tree.related_threads(RELATIONS_BACKUP) == ["thread-b"]
    assert not (tree.base / INDEX_PAGE).exists()


def test_an_empty_folder_of_a_thread_is_removed(tree: ThreadTree):
    (tree.base / thread_folder("thread-a") / "plan.md").unlink()
    tree.files.remove(tree.thread("thread-a"))

    assert not (tree.base / thread_folder("thread-a")).exists()


def test_files_to_keep_stay(tree: ThreadTree):
    kept_file = f"{thread_folder('thread-a')}/{TRANSCRIPT}"
    tree.files.remove_outputs(tree.base, "thread-a", [kept_file])

    assert tree.exists("thread-a", TRANSCRIPT)
    assert not tree.exists("thread-a", ".meta/assets.json")


def test_a_thread_in_the_central_tree_is_removed(tmp_path: Path, clock: FakeClock):
    tree = ThreadTree(tmp_path / "central" / "app", clock)
    tree.files.remove(tree.thread("thread-a"))

    assert not tree.exists("thread-a", ".meta")
    assert tree.exists("thread-b", TRANSCRIPT)


def test_only_transcripts_are_removed_to_be_written_again(tree: ThreadTree):
    tree.files.remove_transcripts(tree.thread("thread-a"))

    assert not tree.exists("thread-a", TRANSCRIPT)
    assert tree.exists("thread-a", ".meta/assets.json")
    assert tree.exists("thread-b", TRANSCRIPT)


def test_only_files_that_hold_a_text_are_removed(tree: ThreadTree):
    tree.files.remove_with_text(tree.thread("thread-a"), LiteralText("of thread-a"))

    assert tree.exists("thread-a", TRANSCRIPT)
    assert not tree.exists("thread-a", ".meta/assets.json")
    assert tree.related_threads(RELATIONS_BACKUP) == ["thread-b"]


def test_threads_that_leslie_recorded_stay(tree: ThreadTree):
    data = make_empty_relations()
    upsert_threads(data, [make_thread("thread-a")], TIME)
    del data["operations"][0]["params"]["recorded_by"]
    tree.write(RELATIONS_FILE, encode_relations(data).decode())
    tree.files.remove_relations(tree.base, "thread-a")

    assert tree.related_threads(RELATIONS_FILE) == ["thread-a"]


def test_a_damaged_relations_file_is_left_alone(tree: ThreadTree):
    for name in (RELATIONS_FILE, RELATIONS_BACKUP):
        tree.write(name, "damaged")
    reason = tree.files.remove_relations(tree.base, "thread-a")

    assert "cannot be read" in reason
    assert (tree.base / RELATIONS_FILE).read_text() == "damaged"


def test_a_lock_that_another_program_holds_is_reported(tree: ThreadTree):
    lock = tree.base / ".leslie" / "thread_relations.json.lock"
    lock.mkdir()
    now = tree.files.clock.now().timestamp()
    os.utime(lock, (now, now))

    with pytest.raises(UserError, match="holds the lock"):
        tree.files.remove_relations(tree.base, "thread-a")


def test_links_are_not_followed(tree: ThreadTree, tmp_path: Path):
    victim = tmp_path / "victim"
    (victim / ".meta").mkdir(parents=True)
    (victim / ".meta" / "file").touch()
    folder = tree.base / thread_folder("thread-c")
    folder.symlink_to(victim)
    tree.files.remove(tree.thread("thread-c"))
    tree.files.remove_transcripts(tree.thread("thread-c"))

    assert (victim / ".meta" / "file").exists()


def test_kept_files_stay_excluded_from_git(tree: ThreadTree):
    tree.write(f"{thread_folder('thread-a')}/.meta/.gitignore", "*\n")
    kept_file = f"{thread_folder('thread-a')}/{TRANSCRIPT}"
    tree.files.remove_outputs(tree.base, "thread-a", [kept_file])

    assert tree.exists("thread-a", ".meta/.gitignore")


def test_relations_that_git_tracks_are_reported(tree: ThreadTree):
    git(tree.base, "init", "-q")
    git(tree.base, "add", "-A")

    reason = tree.files.remove_relations(tree.base, "thread-a")

    assert "is tracked by Git" in reason
