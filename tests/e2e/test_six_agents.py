"""One home, six agents: all of them are read, and none depends on another."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES

pytestmark = pytest.mark.e2e

CASES = {
    "claude-code": "claude_code/tools-old",
    "codex": "codex/tools",
    "copilot-cli": "copilot_cli/tools",
    "gemini-cli": "gemini_cli/tools",
    "opencode": "opencode/tools",
    "qwen-code": "qwen_code/tools",
}
DATABASE = ".local/share/opencode/opencode.db"
FOLDERS = {
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "COPILOT_HOME": ".copilot",
    "QWEN_HOME": ".qwen",
}


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    """A home in which each agent has worked once."""
    for case in CASES.values():
        shutil.copytree(FIXTURES / case / "home", home, dirs_exist_ok=True)
    return LesliedRunner(home)


def sessions(leslied: LesliedRunner) -> dict[str, dict[str, Any]]:
    listed = leslied("list", "--json").json["data"]["sessions"]
    return {each["agent"]: each for each in listed}


def test_every_agent_has_its_session_in_one_list(leslied: LesliedRunner):
    leslied("sync")

    found = sessions(leslied)

    assert found.keys() == CASES.keys()
    for agent, session in found.items():
        assert session["project"], agent
        assert session["title"], agent
        assert session["model"], agent
        assert session["tool_calls"] >= 2, agent
        assert session["usage"]["output_tokens"] > 0, agent
        assert session["started_at"] < session["ended_at"], agent


def test_every_agent_has_its_transcript(leslied: LesliedRunner):
    leslied("sync", "--stop-all")

    again = leslied("sync", "--stop-all", "--json").json["data"]

    written = (leslied.home / ".local/share/leslied/central").rglob("*.txt")
    texts = [path.read_text() for path in written]
    assert len([text for text in texts if "Source: subagent" not in text]) == len(CASES)
    assert all("[Tool call]" in text for text in texts)
    assert (again["transcripts_written"], again["entries_decoded"]) == (0, 0)


def test_every_agent_is_told_with_how_far_it_is_read(leslied: LesliedRunner):
    leslied("sync")

    agents = leslied("agents", "--json").json["data"]["agents"]

    assert {each["name"] for each in agents} == CASES.keys()
    for agent in agents:
        assert (agent["found"], agent["sessions"], agent["rejected"]) == (True, 1, 0)
        assert agent["lag_seconds"] == 0


@pytest.mark.parametrize("name", FOLDERS)
def test_a_variable_that_moves_an_agent_is_honoured(leslied: LesliedRunner, name: str):
    moved = leslied.home / "elsewhere"
    (leslied.home / FOLDERS[name]).rename(moved)
    leslied.environ[name] = str(moved)

    leslied("sync")

    assert sessions(leslied).keys() == CASES.keys()


def break_database(home: Path) -> None:
    (home / DATABASE).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def cut_database(home: Path) -> None:
    data = (home / DATABASE).read_bytes()
    (home / DATABASE).write_bytes(data[: len(data) // 2])


def tear_document(home: Path) -> None:
    chats = next((home / ".gemini/tmp").glob("*/chats"))
    (chats / "session-2025-01-01T00-00-deadbeef.json").write_text('{"sessionId": "x", ')


def garble_logs(home: Path) -> None:
    for path in (home / ".codex").rglob("*.jsonl"):
        path.write_bytes(b"\0\xff garbage\n" * 50)


@pytest.mark.parametrize(
    ("harm", "harmed"),
    [
        (break_database, {"opencode"}),
        (cut_database, {"opencode"}),
        (tear_document, set()),
        (garble_logs, {"codex"}),
    ],
)
def test_no_agents_failure_stops_another(
    leslied: LesliedRunner, harm: Any, harmed: set[str]
):
    harm(leslied.home)

    ran = leslied("sync", "--json")

    assert ran.code == 0
    assert CASES.keys() - sessions(leslied).keys() <= harmed


def test_a_locked_database_is_told_and_read_later(leslied: LesliedRunner):
    db = sqlite3.connect(leslied.home / DATABASE, isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    locked = leslied("sync", "--json")
    during = sessions(leslied)
    db.close()

    leslied("sync")

    assert locked.code == 0
    assert CASES.keys() - during.keys() <= {"opencode"}
    assert sessions(leslied).keys() == CASES.keys()
