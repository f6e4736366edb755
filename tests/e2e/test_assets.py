"""The index of a thread and of its project, as a person or a script sees them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.claude import AFTER_STORE_CREATION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e
THREAD = ".leslie/threads/thread-11111111"


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "mill"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def plan(claude: ClaudeHome, leslied: LesliedRunner, project: Path) -> Path:
    """A session wrote a plan and edited it twice; then it was indexed."""
    leslied("sync")  # What ended before there was a store goes elsewhere.
    talk, path = (
        ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION),
        project / THREAD / "plan.md",
    )
    claude.write(talk.prompt("plan the mill"))
    for number, tool in enumerate(("Write", "Edit", "Edit"), 1):
        claude.write(
            talk.call(tool, {"file_path": str(path)}, f"toolu_{number}"),
            talk.result(f"toolu_{number}", "The file was written successfully."),
        )
    claude.write(talk.answer("Planned."))
    path.parent.mkdir(parents=True)
    path.write_text("# Build the mill\n\n1. Dam\n2. Wheel\n")
    leslied("sync", "--stop-all")
    return path


def test_the_index_names_the_three_calls_that_made_a_plan(plan: Path):
    index = json.loads((plan.parent / ".meta" / "assets.json").read_text())

    asset = index["assets"][0]
    assert (asset["type"], asset["title"]) == ("plan", "Build the mill")
    calls = [(c["tool"], c["call_id"], c["kind"]) for c in asset["calls"]]
    assert calls == [
        ("Write", "toolu_1", "write"),
        ("Edit", "toolu_2", "edit"),
        ("Edit", "toolu_3", "edit"),
    ]
    assert asset["history"][0]["calls"] == ["toolu_1", "toolu_2", "toolu_3"]


def test_assets_shows_a_table(leslied: LesliedRunner, plan: Path):
    table = leslied("assets", "thread-1111").out.split("\n")

    assert table[0].split() == ["TYPE", "PATH", "TITLE", "SIZE", "CHANGED", "BY"]
    assert table[1].split()[:2] == ["plan", "plan.md"]
    assert "Build the mill" in table[1]
    assert table[1].endswith("Edit toolu_3 (+2)")
    assert table[2].split()[0] == "transcript"


def test_what_a_person_changed_is_no_calls_work(leslied: LesliedRunner, plan: Path):
    plan.write_text("# By hand\n")
    leslied("sync")

    line = leslied("assets", "last").out.split("\n")[1]

    assert "By hand" in line
    assert line.endswith("  -")


def test_assets_as_json_is_what_stands_in_the_index(leslied: LesliedRunner, plan: Path):
    (thread,) = leslied("assets", "last", "--json").json["data"]["threads"]

    index = json.loads((plan.parent / ".meta" / "assets.json").read_text())
    assert thread == {**index, "folder": str(plan.parents[3])}


def test_without_a_thread_the_projects_threads_are_shown(
    leslied: LesliedRunner, plan: Path
):
    page = leslied("assets").out

    assert page.startswith("thread-11111111  plan the mill\n")
    assert "plan.md" in page


def test_a_second_sync_leaves_every_byte(leslied: LesliedRunner, plan: Path):
    folder = plan.parents[2]
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}

    data = leslied("sync", "--json").json["data"]

    assert (data["threads_indexed"], data["index_files_written"]) == (0, 0)
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before


def test_only_the_agents_own_files_are_for_git(leslied: LesliedRunner, plan: Path):
    status = ["git", "-C", str(plan.parents[3]), "status", "--short", "-uall"]

    told = subprocess.run(status, capture_output=True, text=True, check=True).stdout

    assert told == f"?? {THREAD}/plan.md\n"


def test_lint_tells_what_to_mend_and_ends_with_one(leslied: LesliedRunner, plan: Path):
    assert leslied("assets", "lint").code == 0
    (plan.parent / "Plan2.md").write_text("x")

    ran = leslied("assets", "lint", "thread-1111")

    assert ran.code == 1
    assert "Plan2.md" in ran.out
    assert "Try: plan.md" in ran.out
    data = leslied("assets", "lint", "--json").json["data"]
    assert [finding["rule"] for finding in data["findings"]] == ["unknown-name"]


def test_a_damaged_index_is_no_index(leslied: LesliedRunner, plan: Path):
    (plan.parent / ".meta" / "assets.json").write_text('{"assets": [7]}')

    ran = leslied("assets", "last")

    assert (ran.code, ran.err.split("\n")[1]) == (2, "Write it: leslied sync")
    leslied("sync")
    assert leslied("assets", "last").code == 0


def test_a_thread_nobody_knows_is_told_in_a_sentence(
    leslied: LesliedRunner, plan: Path
):
    ran = leslied("assets", "thread-9")

    assert ran.code == 2
    assert "leslied list" in ran.err


def test_before_any_index_there_is_a_next_step(leslied: LesliedRunner):
    leslied("sync")

    assert "leslied sync" in leslied("assets").out


def test_a_rebuild_writes_the_same_index(leslied: LesliedRunner, plan: Path):
    before = (plan.parent / ".meta" / "assets.json").read_bytes()

    assert leslied("rebuild").code == 0

    assert (plan.parent / ".meta" / "assets.json").read_bytes() == before
    assert leslied("sync", "--json").json["data"]["index_files_written"] == 0


def test_a_thread_that_leslie_names_takes_its_index_along(
    leslied: LesliedRunner, plan: Path
):
    file = plan.parents[2] / "thread_relations.json"
    relations = json.loads(file.read_text())
    thread = relations["threads"].pop("thread-11111111")
    relations["threads"]["thread-abc"] = {**thread, "id": "thread-abc"}
    file.write_text(json.dumps(relations))

    leslied("sync")

    (index,) = plan.parents[1].rglob("assets.json")
    asset = json.loads(index.read_text())["assets"][0]
    assert asset["path"] == ".leslie/threads/thread-abc/plan.md"
    assert [call["call_id"] for call in asset["calls"]] == [
        "toolu_1",
        "toolu_2",
        "toolu_3",
    ]
    assert leslied("sync", "--json").json["data"]["index_files_written"] == 0
