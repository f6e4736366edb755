"""Every test has a home of its own and a clock that stands still."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from leslied.agents import load_adapters
from tests.support.claude import ClaudeHome
from tests.support.clock import FakeClock

# How long an example takes says more of the machine's load than of the code.
settings.register_profile(
    "leslied", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("leslied")

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files anew"
    )


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home nobody else has; no variable of the real one is left."""
    folder = tmp_path / "home"
    folder.mkdir()
    named = chain.from_iterable(a.env_vars for a in load_adapters().values())
    for name in named:
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
def shared() -> Path:
    """Material beside the checkout; a test that needs it is skipped without."""
    if not (SHARED / "captures").is_dir():
        pytest.skip("the shared captures are not here")
    return SHARED
