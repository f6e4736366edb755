"""One home with six agents: all are read, and damage to one affects no other."""

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
DEFAULT_FOLDERS = {
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "COPILOT_HOME": ".copilot",
    "QWEN_HOME": ".qwen",
}
"""Folder of an agent in the home, by the variable that moves it."""


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    """Write one session of each agent into the home."""
    for case in CASES.values():
        shutil.copytree(FIXTURES / case / "home", home, dirs_exist_ok=True)
    return LesliedRunner(home)


def list_sessions(leslied: LesliedRunner) -> dict[str, dict[str, Any]]:
    """Return the listed sessions by agent."""
    rows = leslied("list", "--json").json["data"]["sessions"]
    return {session["agent"]: session for session in rows}


def test_list_shows_the_session_of_every_agent(leslied: LesliedRunner):
    leslied("sync")

    sessions = list_sessions(leslied)

    assert sessions.keys() == CASES.keys()
    for agent, session in sessions.items():
        assert session["project"], agent
        assert session["title"], agent
        assert session["model"], agent
        assert session["tool_calls"] >= 2, agent
        assert session["usage"]["output_tokens"] > 0, agent
        assert session["started_at"] < session["ended_at"], agent


def test_the_session_of_every_agent_has_a_transcript(leslied: LesliedRunner):
    leslied("sync", "--stop-all")

    paths = (leslied.home / ".local/share/leslied/central").rglob("*.txt")
    texts = [path.read_text() for path in paths]
    assert len([text for text in texts if "Source: subagent" not in text]) == len(CASES)
    assert all("[Tool call]" in text for text in texts)


def test_a_second_sync_decodes_and_writes_nothing(leslied: LesliedRunner):
    leslied("sync", "--stop-all")

    second_sync = leslied("sync", "--stop-all", "--json").json["data"]

    assert (second_sync["transcripts_written"], second_sync["entries_decoded"]) == (
        0,
        0,
    )


def test_the_agents_command_shows_every_agent_without_lag(leslied: LesliedRunner):
    leslied("sync")

    agents = leslied("agents", "--json").json["data"]["agents"]

    present = [agent for agent in agents if agent["found"]]
    assert {agent["name"] for agent in present} == CASES.keys()
    for agent in present:
        assert (agent["sessions"], agent["rejected"]) == (1, 0)
        assert (agent["lag_seconds"], agent["unread"]) == (0, 0)


@pytest.mark.parametrize("variable", DEFAULT_FOLDERS)
def test_variables_that_move_an_agents_folder_are_respected(
    leslied: LesliedRunner, variable: str
):
    new_folder = leslied.home / "elsewhere"
    (leslied.home / DEFAULT_FOLDERS[variable]).rename(new_folder)
    leslied.environ[variable] = str(new_folder)

    leslied("sync")

    assert list_sessions(leslied).keys() == CASES.keys()


def overwrite_database(home: Path) -> None:
    (home / DATABASE).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def truncate_database(home: Path) -> None:
    data = (home / DATABASE).read_bytes()
    (home / DATABASE).write_bytes(data[: len(data) // 2])


def write_incomplete_document(home: Path) -> None:
    chats = next((home / ".gemini/tmp").glob("*/chats"))
    (chats / "session-2025-01-01T00-00-deadbeef.json").write_text('{"sessionId": "x", ')


def overwrite_logs(home: Path) -> None:
    for path in (home / ".codex").rglob("*.jsonl"):
        path.write_bytes(b"\0\xff garbage\n" * 50)


@pytest.mark.parametrize(
    ("damage", "affected_agents"),
    [
        (overwrite_database, {"opencode"}),
        (truncate_database, {"opencode"}),
        (write_incomplete_document, set()),
        (overwrite_logs, {"codex"}),
    ],
)
def test_damaged_files_of_one_agent_do_not_affect_others(
    leslied: LesliedRunner, damage: Any, affected_agents: set[str]
):
    damage(leslied.home)

    result = leslied("sync", "--json")

    assert result.code == 0
    assert CASES.keys() - list_sessions(leslied).keys() <= affected_agents


def test_a_locked_database_is_read_later(leslied: LesliedRunner):
    db = sqlite3.connect(leslied.home / DATABASE, isolation_level=None)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN EXCLUSIVE")
    result = leslied("sync", "--json")
    sessions_while_locked = list_sessions(leslied)
    db.close()

    leslied("sync")

    assert result.code == 0
    assert CASES.keys() - sessions_while_locked.keys() <= {"opencode"}
    assert list_sessions(leslied).keys() == CASES.keys()
