"""Tests of `leslied import`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leslied.cli import leslied

PROMPT = {"step_id": 1, "source": "user", "message": "Hello"}
TRAJECTORY = {"schema_version": "ATIF-v1.8", "session_id": "run-1", "steps": [PROMPT]}


@pytest.fixture
def trajectory(tmp_path: Path) -> Path:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(TRAJECTORY))
    return path


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(leslied, ["import", *map(str, args)])


def test_the_output_counts_imported_files_and_records(trajectory: Path):
    result = run(trajectory)

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "atif: 1 file",
        "1 file new or changed, 2 records added. List sessions: leslied list",
    ]


def test_importing_again_reports_that_nothing_is_new(trajectory: Path):
    run(trajectory)

    result = run(trajectory)

    assert result.output.splitlines()[-1] == (
        "Nothing is new: all of this was imported before."
    )


def test_json_has_the_counts_and_what_was_not_imported(
    trajectory: Path, tmp_path: Path
):
    other = tmp_path / "notes.txt"
    other.write_text("x")

    result = run("--json", trajectory, other)

    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["data"]["sources"] == {"atif": 1}
    assert answer["warnings"] == [
        f"{other} has no sessions in a format that leslied imports."
    ]
