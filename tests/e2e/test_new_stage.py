"""A new stage is one module, and one line in the list of stages with its import."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
STAGE = '''
from __future__ import annotations

from pathlib import Path
from typing import Any

from leslied.pipeline.stage import Report, Stage


class BellStage(Stage):
    """Ring a bell."""

    name = "bell"

    def __init__(self, context: Any) -> None:
        self.file = context.home / "bell"

    def run(self, budget: Any) -> Report:
        if not self.file.exists():
            raise FileNotFoundError
        self.file.write_text("rung")
        return Report(errors={"tower": "too high"})
'''
IMPORT = "from leslied.pipeline.stages.archive import Archiver\n"
LINE = "        Exports.make(context),\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Copy the package and add a stage; return the copy's folder."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "leslied", tmp_path / "leslied", ignore=ignored)
    pipeline = tmp_path / "leslied" / "pipeline"
    (pipeline / "stages" / "bell.py").write_text(STAGE)
    flow = (pipeline / "flow.py").read_text()
    new_import = IMPORT.replace("archive", "bell").replace("Archiver", "BellStage")
    flow = flow.replace(IMPORT, IMPORT + new_import)
    flow = flow.replace(LINE, "        BellStage(context),\n" + LINE)
    (pipeline / "flow.py").write_text(flow)
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    return tmp_path


def run_leslied(clone: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(clone), "PYTHONPATH": str(clone)}
    return subprocess.run(
        [sys.executable, "-m", "leslied", *args],
        cwd=clone,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_stage_runs_and_its_errors_are_shown(clone: Path):
    (clone / "bell").touch()

    result = run_leslied(clone, "sync")

    assert (clone / "bell").read_text() == "rung"
    assert "tower: too high" in result.stderr


def test_a_new_stage_that_fails_is_named_by_sync_and_status(clone: Path):
    result = run_leslied(clone, "sync", "--json")
    status = run_leslied(clone, "status")

    assert result.returncode == 1
    assert any("bell" in warning for warning in json.loads(result.stdout)["warnings"])
    assert "bell" in status.stdout + status.stderr
