"""Run each part of `make soak` for a moment, so that all of them keep working."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.progress import ROOT, Code, Progress
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]


class Soak:
    """Run `python -m tests.soak` with its own progress and results."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / ".soak"
        self.results = folder / "soak.json"

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        folders = [f"--state={self.state}", f"--results={self.results}"]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.soak", *folders, *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def run(self, *options: str) -> dict[str, str]:
        """Run parts to their end; return the figures by name."""
        self.start(*options).wait(4 * MAX_WAIT_SECONDS)
        rows = json.loads(self.results.read_text())["rows"]
        return {row["what"]: row["figure"] for row in rows}


@pytest.fixture
def soak(tmp_path: Path) -> Soak:
    return Soak(tmp_path)


def test_a_few_kills_damage_nothing(soak: Soak):
    figures = soak.run("--parts=kills", "--kills=12")

    assert figures["SIGKILLs of the daemon"] == "12"
    assert figures["lines lost"] == figures["files torn"] == "0"
    assert figures["rounds without progress or with an error"] == "0"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_few_failing_system_calls_damage_nothing(soak: Soak):
    figures = soak.run("--parts=faults", "--fault-points=20")

    assert figures["system calls hit with SIGKILL, ENOSPC or EIO"] == "20"
    assert figures["wrong state, error or hang after EIO"] == "0"


def test_a_few_inputs_of_each_target_are_fuzzed(soak: Soak):
    figures = soak.run("--parts=fuzz", "--inputs=2000")

    # Every target gets the same number of inputs.
    assert int(figures["inputs tried"].replace(",", "")) >= 2000
    assert figures["crashes"] == figures["inputs that took over 1 s"] == "0"


def test_a_killed_soak_goes_on_where_it_was(soak: Soak):
    process = soak.start("--parts=fuzz", "--inputs=160000", "--workers=1")
    progress = soak.state / "fuzz.jsonl"
    wait_until(progress.exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first_line = progress.read_text().splitlines()[0]

    figures = soak.run("--parts=fuzz", "--inputs=40000")

    assert progress.read_text().splitlines()[0] == first_line
    assert int(figures["inputs tried"].replace(",", "")) >= 40_000


def test_progress_of_other_code_does_not_count(tmp_path: Path):
    path = tmp_path / "kills.jsonl"
    Progress(path, Code("a", "tree a")).add(round=0)
    with path.open("a") as file:
        file.write('{"round": 1, "tr')
    Progress(path, Code("b", "tree b")).add(round=2)

    assert [item["round"] for item in Progress(path, Code("b", "tree b")).items] == [2]
    assert [item["round"] for item in Progress(path, Code("a", "tree a")).items] == [0]
