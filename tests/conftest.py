"""Fixtures of all tests: a temporary home, a fake clock, a Claude Code home."""

from __future__ import annotations

import os
import subprocess
import time
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from leslied.agents import load_adapters
from tests.support.claude import ClaudeHome
from tests.support.clock import FakeClock

# The duration of an example depends on the machine's load more than on the code.
settings.register_profile(
    "leslied", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("leslied")

# Some agents write times without a zone, which are in that of the machine.
os.environ["TZ"] = "UTC"
time.tzset()

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite golden files"
    )


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set HOME to an empty directory and unset variables that point elsewhere."""
    folder = tmp_path / "home"
    folder.mkdir()
    env_vars = chain.from_iterable(a.env_vars for a in load_adapters().values())
    for name in env_vars:
        monkeypatch.delenv(name, raising=False)
    for name in ("LESLIED_CONFIG", "LESLIED_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("COPILOT_HOME", "QWEN_HOME", "QWEN_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def claude(home: Path, tmp_path: Path, clock: FakeClock) -> ClaudeHome:
    return ClaudeHome(home, tmp_path / "data" / "store.db", clock)


@pytest.fixture
def project(home: Path) -> Path:
    """Return the folder of a Git repository."""
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def shared_dir() -> Path:
    """Return the directory of shared captures; skip the test if it is missing."""
    if not (SHARED / "captures").is_dir():
        pytest.skip(f"{SHARED} has no captures")
    return SHARED
