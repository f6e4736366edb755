"""Real agents read the guide that `leslied init` wrote.

Requires the same set-up as `test_live.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.guide import load_guide
from tests.live.test_live import PREFIX, TOOLS
from tests.support.cli import LesliedRunner

pytestmark = [
    pytest.mark.skipif(not PREFIX or not TOOLS.exists(), reason="no live agents"),
    pytest.mark.timeout(180),
]
GUIDE = load_guide().text.decode()


def capture_first_request(
    client: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Return the first request that the agent sends to its model, as text."""
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    from agents import Model, run_agent  # noqa: PLC0415 - outside the repository

    home = work.parent
    requests = home.parent / "requests.jsonl"
    with Model(dump=requests) as model:
        result = run_agent(
            client, "hello", prefix=PREFIX, home=home, work=work, model=model
        )
    assert result.exit_code == 0
    return requests.read_text(encoding="utf-8").split("\n")[0]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Create a repository in the agent's home and return its folder."""
    folder = tmp_path / "live" / "home" / "work"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def has_guide(request: str) -> bool:
    return json.dumps(GUIDE)[1:-1] in request


@pytest.mark.parametrize(
    ("client", "file_name"),
    [("claude", "AGENTS.md"), ("claude", "CLAUDE.md"), ("codex", "AGENTS.md")],
)
def test_the_first_request_contains_the_guide(
    client: str, file_name: str, work: Path, monkeypatch: pytest.MonkeyPatch
):
    LesliedRunner(work.parent, work)("init", "--file", file_name)

    assert has_guide(capture_first_request(client, work, monkeypatch))


@pytest.mark.parametrize(
    ("line", "is_read"), [("Use tabs.", False), ("@AGENTS.md", True)]
)
def test_claude_md_hides_agents_md_exactly_when_init_warns(
    line: str, is_read: object, work: Path, monkeypatch: pytest.MonkeyPatch
):
    (work / "CLAUDE.md").write_text(f"{line}\n")
    has_warning = (
        "Claude Code reads CLAUDE.md" in LesliedRunner(work.parent, work)("init").err
    )

    assert has_guide(capture_first_request("claude", work, monkeypatch)) == is_read
    assert has_warning is not is_read
