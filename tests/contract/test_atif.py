"""Validate ATIF trajectories with the data models that the format's authors publish."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.exports import read_case_session, render_main_text
from tests.support.golden import list_all_cases

pytestmark = pytest.mark.heavy

CHECK = """
import json, sys
from atif import Trajectory

for line in sys.stdin:
    trajectory = Trajectory.model_validate_json(json.loads(line))
    print(len(trajectory.steps), len(trajectory.subagent_trajectories or []))
"""
ATIF = "atif==1.8.0"


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python interpreter with the models installed.

    The package requires a newer Python than its models need.
    """
    folder = tmp_path_factory.mktemp("atif")
    python = folder / "bin" / "python"
    try:
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        installs = (["--no-deps", "--ignore-requires-python", ATIF], ["pydantic"])
        for arguments in installs:
            subprocess.run(
                [*pip, *arguments], check=True, timeout=100, capture_output=True
            )
    except (subprocess.SubprocessError, OSError):
        pytest.skip("atif cannot be installed here")
    return python


@pytest.mark.timeout(300)
def test_every_fixture_gives_a_valid_trajectory(
    python: Path, tmp_path: Path, clock: FakeClock
):
    trajectories = []
    for number, (adapter, case) in enumerate(list_all_cases()):
        home = tmp_path / f"home{number}"
        store = tmp_path / f"{number}.db"
        session = read_case_session(adapter, case, home, store, clock)
        if session is not None:
            trajectories.append(render_main_text(session, "atif"))

    result = subprocess.run(
        [python, "-c", CHECK],
        input="".join(json.dumps(text) + "\n" for text in trajectories),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert result.returncode == 0, result.stderr[-3000:]
    counts = [line.split() for line in result.stdout.split("\n") if line]
    assert len(counts) == len(trajectories) > 20
    assert any(int(subagents) > 0 for _, subagents in counts)
