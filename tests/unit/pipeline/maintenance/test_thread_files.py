"""Deleting what leslied wrote about a thread, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.errors import UserError
from leslied.layout import RELATIONS_BACKUP, RELATIONS_FILE
from leslied.pipeline.maintenance.thread_files import ThreadFiles
from leslied.threads.operations import upsert_threads
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.support.clock import FakeClock
from tests.support.git import git, make_repository

THREAD = ".leslie/threads/thread-1"
NOW = "2026-11-16T10:00:00.000Z"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "app")
    for name in (
        f"{THREAD}/plan.md",
        f"{THREAD}/.meta/.gitignore",
        f"{THREAD}/.meta/assets.json",
        f"{THREAD}/.meta/transcripts/a.txt",
        f"{THREAD}/.meta/transcripts/b.txt",
        f"{THREAD}/.meta/exports/html/a.html",
    ):
        write(folder / name, "text")
    return folder


@pytest.fixture
def files(tmp_path: Path, clock: FakeClock) -> ThreadFiles:
    return ThreadFiles(central=tmp_path / "central", clock=clock)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_relations(base: Path, *, recorded_by_leslied: bool = True) -> None:
    data = make_empty_relations()
    thread = {
        "id": "thread-1",
        "session_id": "s",
        "title": "a title",
        "status": "active",
        "created_at": NOW,
        "metadata": {},
        "parent_id": None,
    }
    upsert_threads(data, [thread], NOW)
    if not recorded_by_leslied:
        for operation in data["operations"]:
            operation["params"].pop("recorded_by")
    for name in (RELATIONS_FILE, RELATIONS_BACKUP):
        (base / name).write_bytes(encode_relations(data))


def list_names(base: Path) -> list[str]:
    folder = base / THREAD
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    )


def test_what_others_wrote_stays(base: Path, files: ThreadFiles):
    files.remove_outputs(base, "thread-1")

    assert list_names(base) == ["plan.md"]


def test_kept_files_stay_excluded_from_git(base: Path, files: ThreadFiles):
    files.remove_outputs(base, "thread-1", {f"{THREAD}/.meta/transcripts/b.txt"})

    assert list_names(base) == [
        ".meta/.gitignore",
        ".meta/transcripts/b.txt",
        "plan.md",
    ]


def test_nothing_remains_of_a_central_folder(tmp_path: Path, files: ThreadFiles):
    folder = files.central / "app-1"
    write(folder / THREAD / ".meta/assets.json", "{}")
    write(folder / ".leslie/INDEX.md", "# Threads")
    files.remove_outputs(folder, "thread-1")

    assert not folder.exists()


@pytest.mark.threat("P2")
@pytest.mark.parametrize("link", [THREAD, f"{THREAD}/.meta", ".leslie/threads"])
def test_links_are_not_followed(
    base: Path, tmp_path: Path, files: ThreadFiles, link: str
):
    victim = tmp_path / "victim"
    (base / link).rename(victim)
    (base / link).symlink_to(victim)
    before = sorted(victim.rglob("*"))
    files.remove_outputs(base, "thread-1")

    assert sorted(victim.rglob("*")) == before


def test_the_relations_file_and_its_backup_lose_the_thread(
    base: Path, files: ThreadFiles
):
    write_relations(base)

    assert files.remove_relations(base, "thread-1") == ""
    for name in (RELATIONS_FILE, RELATIONS_BACKUP):
        assert "a title" not in (base / name).read_text()


def test_a_thread_that_leslie_recorded_stays(base: Path, files: ThreadFiles):
    write_relations(base, recorded_by_leslied=False)
    files.remove_relations(base, "thread-1")

    assert "thread-1" in json.loads((base / RELATIONS_FILE).read_text())["threads"]


def test_a_lock_of_another_program_is_reported(base: Path, files: ThreadFiles):
    write_relations(base)
    (base / f"{RELATIONS_FILE}.lock").mkdir()

    with pytest.raises(UserError, match="holds the lock"):
        files.remove_relations(base, "thread-1")


def test_relations_that_git_tracks_are_reported(base: Path, files: ThreadFiles):
    write_relations(base)
    git(base, "add", "-A")

    assert "is tracked by Git" in files.remove_relations(base, "thread-1")
