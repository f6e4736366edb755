"""The index of a thread and of its project, as a person or a script sees them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, Talk
from tests.support.cli import Command

pytestmark = pytest.mark.e2e
THREAD = ".leslie/threads/thread-11111111"


@pytest.fixture
def leslied(home: Path) -> Command:
    return Command(home)


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "mill"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def plan(claude: ClaudeHome, leslied: Command, project: Path) -> Path:
    """A session wrote a plan and edited it twice; then it was indexed."""
    leslied("sync")  # What ended before there was a store goes elsewhere.
    talk, path = Talk(cwd=str(project)), project / THREAD / "plan.md"
    claude.write(talk.prompt("plan the mill"))
    for number, tool in enumerate(("Write", "Edit", "Edit"), 1):
        claude.write(
            talk.call(tool, {"file_path": str(path)}, f"toolu_{number}"),
            talk.result(f"toolu_{number}", "The file was written successfully."),
        )
    claude.write(talk.answer("Planned."))
    path.parent.mkdir(parents=True)
    path.write_text("# Build the mill\n\n1. Dam\n2. Wheel\n")
    # The log's times are later than the store, so the thread is no old one.
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
