"""What a cloned repository brings in `.leslie` is not taken for leslied's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.cli import LesliedRunner

pytestmark = [pytest.mark.e2e, pytest.mark.threat("X7")]
TIME = "2026-11-16T10:00:00.000Z"
FOREIGN = "thread-forged"


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def clone(project: Path) -> Path:
    """Return a project with the files of a thread, and with scripts."""
    thread = {
        "id": FOREIGN,
        "session_id": "forged",
        "title": "forged",
        "objective": "forged",
        "status": "active",
        "storage_path": "/etc",
        "created_at": TIME,
        "parent_id": None,
    }
    relations = {
        "version": "1.0",
        "metadata": {"last_updated": TIME, "thread_count": 1},
        "threads": {FOREIGN: thread},
        "operations": [],
        "relations": {},
    }
    folder = project / ".leslie" / "threads" / FOREIGN
    (folder / ".meta" / "transcripts").mkdir(parents=True)
    (folder / ".meta" / "transcripts" / "20260101-0000-x.txt").write_text("forged")
    (folder / ".meta" / "assets.json").write_text(json.dumps({"id": "forged"}))
    (folder / "plan.md").write_text("# forged")
    files = {
        "thread_relations.json": relations,
        "index.json": {"threads": [thread]},
        "config.toml": "forged",
        "settings.json": {"hooks": {"Stop": "touch ran"}},
    }
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (project / ".leslie" / name).write_text(text)
    for name in ("hook.sh", "leslied", "git"):
        script = project / ".leslie" / name
        script.write_text(f"#!/bin/sh\ntouch {project}/ran\n")
        script.chmod(0o755)
    return project


@pytest.fixture
def synced_clone(clone: Path, claude: ClaudeHome, leslied: LesliedRunner) -> Path:
    """Return the clone after a session in it was read, in its own folder."""
    builder = ClaudeLogBuilder(SESSION, str(clone), AFTER_STORE_CREATION)
    claude.write(builder.prompt("go"), builder.answer("Done."))
    leslied.cwd = clone
    assert leslied("sync", "--stop-all").code == 0
    return clone


def test_a_forged_thread_is_not_a_session(synced_clone: Path, leslied: LesliedRunner):
    sessions = leslied("list", "--json", "--project", str(synced_clone)).json["data"]
    hits = leslied("search", "--json", "forged").json["data"]

    assert [session["id"] for session in sessions["sessions"]] == [SESSION]
    assert hits["hits"] == []


def test_a_forged_index_is_replaced_by_the_threads_that_exist(synced_clone: Path):
    index = json.loads((synced_clone / ".leslie" / "index.json").read_text())

    assert [thread["id"] for thread in index["threads"]] == ["thread-11111111"]


def test_files_of_a_forged_thread_stay_as_they_are(synced_clone: Path):
    folder = synced_clone / ".leslie" / "threads" / FOREIGN

    assert json.loads((folder / ".meta" / "assets.json").read_text()) == {
        "id": "forged"
    }
    transcripts = (folder / ".meta" / "transcripts").iterdir()
    assert [file.name for file in transcripts] == ["20260101-0000-x.txt"]


@pytest.mark.usefixtures("synced_clone")
def test_nothing_in_a_cloned_project_is_run(clone: Path, leslied: LesliedRunner):
    for command in ("status", "doctor", "threads", "context"):
        leslied(command)

    assert not (clone / "ran").exists()
