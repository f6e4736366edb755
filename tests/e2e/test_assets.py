"""The asset index of a thread and of its project, in files and commands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.claude import AFTER_STORE_CREATION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e
THREAD_FOLDER = ".leslie/threads/thread-11111111"


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
    """Index a plan that a session wrote once and edited twice; return its path."""
    leslied("sync")  # Sessions older than the store get no files.
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    path = project / THREAD_FOLDER / "plan.md"
    claude.write(builder.prompt("plan the mill"))
    for number, tool in enumerate(("Write", "Edit", "Edit"), 1):
        claude.write(
            builder.call(tool, {"file_path": str(path)}, f"toolu_{number}"),
            builder.result(f"toolu_{number}", "The file was written successfully."),
        )
    claude.write(builder.answer("Planned."))
    path.parent.mkdir(parents=True)
    path.write_text("# Build the mill\n\n1. Dam\n2. Wheel\n")
    leslied("sync", "--stop-all")
    return path


def test_the_index_lists_the_three_calls_that_wrote_a_plan(plan: Path):
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


@pytest.mark.usefixtures("plan")
def test_assets_shows_a_table(leslied: LesliedRunner):
    table = leslied("assets", "thread-1111").out.split("\n")

    assert table[0].split() == ["TYPE", "PATH", "TITLE", "SIZE", "CHANGED", "BY"]
    assert table[1].split()[:2] == ["plan", "plan.md"]
    assert "Build the mill" in table[1]
    assert table[1].endswith("Edit toolu_3 (+2)")
    assert table[2].split()[0] == "transcript"


def test_a_manual_change_is_not_attributed_to_a_call(
    leslied: LesliedRunner, plan: Path
):
    plan.write_text("# By hand\n")
    leslied("sync")

    line = leslied("assets", "last").out.split("\n")[1]

    assert "By hand" in line
    assert line.endswith("  -")


def test_assets_as_json_matches_assets_json(
    leslied: LesliedRunner, project: Path, plan: Path
):
    (thread,) = leslied("assets", "last", "--json").json["data"]["threads"]

    index = json.loads((plan.parent / ".meta" / "assets.json").read_text())
    assert thread == {**index, "folder": str(project)}


def test_assets_without_a_thread_shows_all_threads(
    leslied: LesliedRunner, claude: ClaudeHome, project: Path, plan: Path
):
    other_id = "22222222-2222-4333-8444-555555555555"
    builder = ClaudeLogBuilder(other_id, str(project), AFTER_STORE_CREATION)
    claude.write(builder.prompt("plan the dam"), name=f"-mill/{other_id}.jsonl")
    other_plan = plan.parents[1] / "thread-22222222" / "plan.md"
    other_plan.parent.mkdir()
    other_plan.write_text("# Build the dam\n")
    leslied("sync", "--stop-all")

    page = leslied("assets").out

    assert "thread-11111111  plan the mill\n" in page
    assert "thread-22222222  plan the dam\n" in page
    assert page.count("plan.md") == 2


@pytest.mark.usefixtures("plan")
def test_a_second_sync_writes_no_files(leslied: LesliedRunner, project: Path):
    folder = project / ".leslie"
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}

    data = leslied("sync", "--json").json["data"]

    assert (data["threads_indexed"], data["index_files_written"]) == (0, 0)
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before


@pytest.mark.threat("S8")
@pytest.mark.usefixtures("plan")
def test_git_shows_only_files_that_the_agent_wrote(project: Path):
    command = ["git", "-C", str(project), "status", "--short", "-uall"]

    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert output == f"?? {THREAD_FOLDER}/plan.md\n"


def test_lint_reports_findings_and_exits_with_code_1(
    leslied: LesliedRunner, plan: Path
):
    assert leslied("assets", "lint").code == 0
    (plan.parent / "Plan2.md").write_text("x")

    result = leslied("assets", "lint", "thread-1111")

    assert result.code == 1
    assert "Plan2.md" in result.out
    assert "Try: plan.md" in result.out
    data = leslied("assets", "lint", "--json").json["data"]
    assert [finding["rule"] for finding in data["findings"]] == ["unknown-name"]


def test_a_damaged_index_is_reported_as_missing_and_rewritten_by_sync(
    leslied: LesliedRunner, plan: Path
):
    (plan.parent / ".meta" / "assets.json").write_text('{"assets": [7]}')

    result = leslied("assets", "last")

    assert (result.code, result.err.split("\n")[1]) == (
        2,
        "Write it with: leslied sync",
    )
    leslied("sync")
    assert leslied("assets", "last").code == 0


@pytest.mark.usefixtures("plan")
def test_an_unknown_thread_is_reported_with_a_hint(leslied: LesliedRunner):
    result = leslied("assets", "thread-9")

    assert result.code == 2
    assert "leslied list" in result.err


def test_assets_without_an_index_suggests_sync(leslied: LesliedRunner):
    leslied("sync")

    assert "leslied sync" in leslied("assets").out


def test_a_rebuild_writes_the_same_index(leslied: LesliedRunner, plan: Path):
    before = (plan.parent / ".meta" / "assets.json").read_bytes()

    assert leslied("rebuild").code == 0

    assert (plan.parent / ".meta" / "assets.json").read_bytes() == before
    assert leslied("sync", "--json").json["data"]["index_files_written"] == 0


@pytest.mark.usefixtures("plan")
def test_a_thread_renamed_by_leslie_keeps_its_asset_history(
    leslied: LesliedRunner, project: Path
):
    relations_file = project / ".leslie" / "thread_relations.json"
    relations = json.loads(relations_file.read_text())
    thread = relations["threads"].pop("thread-11111111")
    relations["threads"]["thread-abc"] = {**thread, "id": "thread-abc"}
    relations_file.write_text(json.dumps(relations))

    leslied("sync")

    (index,) = (project / ".leslie" / "threads").rglob("assets.json")
    asset = json.loads(index.read_text())["assets"][0]
    assert asset["path"] == ".leslie/threads/thread-abc/plan.md"
    assert [call["call_id"] for call in asset["calls"]] == [
        "toolu_1",
        "toolu_2",
        "toolu_3",
    ]
    # The rename is complete: nothing is left for another sync.
    assert leslied("sync", "--json").json["data"]["index_files_written"] == 0
