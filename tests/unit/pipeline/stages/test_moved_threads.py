"""Test the moved threads stage: the central tree has no files of threads that left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from leslied.layout import (
    LESLIE_FOLDER,
    RELATIONS_FILE,
    RELATIONS_LOCK_NAME,
    assets_file,
    thread_folder,
)
from leslied.model.record import SessionKey
from leslied.pipeline import Report
from leslied.pipeline.stages.moved_threads import MovedThreads
from leslied.store import Store, StoreReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.unit.threads.test_context import ProjectBuilder

KEY = SessionKey("claude-code", SESSION)
THREAD = "thread-11111111"


@pytest.fixture
def central(claude: ClaudeHome) -> Path:
    return claude.store_path.parent / "central"


@pytest.fixture
def project(home: Path) -> Path:
    (home / "app").mkdir()
    return home / "app"


def leave(claude: ClaudeHome, old: Path, new: Path) -> Report:
    """Move the thread of a session from one folder to another; run the stage."""
    claude.write(ClaudeLogBuilder(cwd=str(new)).prompt("one"))
    central = claude.store_path.parent / "central"
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        with store.transcripts() as ledger:
            ledger.set_folder(KEY, os.fsencode(old))
            ledger.change_folder(KEY, os.fsencode(new))
        with StoreReader(claude.store_path) as reader:
            stage = MovedThreads(
                store=store, reader=reader, central=central, clock=claude.clock
            )
            report = stage.run()
        with store.relations() as ledger:
            assert bool(ledger.list_old_folders()) == report.has_more
    assert report.errors == {}
    return report


def make_base(base: Path, *threads: str) -> Path:
    """Write threads into a folder, as leslied does."""
    base.parent.mkdir(parents=True, exist_ok=True)
    builder = ProjectBuilder(base)
    for thread in threads:
        builder.add(thread, ".meta/assets.json")
    builder.build(threads[0])
    return base


def test_nothing_remains_of_the_last_thread(
    claude: ClaudeHome, central: Path, project: Path
):
    base = make_base(central / "app-1", THREAD)

    leave(claude, base, project)

    assert not base.exists()


def test_other_threads_stay(claude: ClaudeHome, central: Path, project: Path):
    base = make_base(central / "app-1", THREAD, "thread-bbbb")

    leave(claude, base, project)

    assert not (base / thread_folder(THREAD)).exists()
    relations = json.loads((base / RELATIONS_FILE).read_text())
    assert list(relations["threads"]) == ["thread-bbbb"]


def test_files_that_leslied_did_not_write_stay(
    claude: ClaudeHome, central: Path, project: Path
):
    base = make_base(central / "app-1", THREAD)
    plan = base / thread_folder(THREAD) / "plan.md"
    plan.write_text("# Plan\n")

    leave(claude, base, project)

    assert plan.exists()


def test_the_histories_of_files_are_kept(
    claude: ClaudeHome, central: Path, project: Path
):
    base = make_base(central / "app-1", THREAD)
    before = (base / assets_file(THREAD)).read_bytes()

    leave(claude, base, project)

    assert (project / assets_file(THREAD)).read_bytes() == before


def test_a_folder_whose_lock_is_held_is_left_to_the_next_run(
    claude: ClaudeHome, central: Path, project: Path
):
    base = make_base(central / "app-1", THREAD)
    (base / LESLIE_FOLDER / RELATIONS_LOCK_NAME).mkdir()

    report = leave(claude, base, project)

    assert report.has_more
    assert (base / assets_file(THREAD)).exists()


@pytest.mark.usefixtures("project")
def test_a_thread_that_returned_keeps_its_files(claude: ClaudeHome, central: Path):
    base = make_base(central / "app-1", THREAD)

    leave(claude, base, base)

    assert (base / assets_file(THREAD)).exists()


def test_a_project_that_a_thread_left_is_not_touched(
    claude: ClaudeHome, home: Path, project: Path
):
    base = make_base(home / "old", THREAD)

    leave(claude, base, project)

    assert (base / assets_file(THREAD)).exists()
