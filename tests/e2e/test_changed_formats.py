"""A format that leslied does not know stops neither other agents nor other sessions."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e


def write_lines(path: Path, *lines: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_database(path: Path, *statements: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Write one known log, and four in formats that have changed."""
    log = ClaudeLogBuilder()
    claude.write(log.prompt("one"), log.answer("two"), log.line("novelty"))
    write_lines(
        home / ".pi/agent/sessions/--p--/2027_x.jsonl",
        {"type": "session", "version": 99, "id": "x", "cwd": "/p"},
        {"type": "hologram", "id": "1", "timestamp": "2027-01-01T00:00:00Z"},
    )
    write_lines(
        home / ".codex/sessions/2027/01/01/rollout-2027-01-01T00-00-00-x.jsonl",
        {"format": 7, "body": ["everything", "is", "different"]},
        "not even an object",
    )
    data = home / ".local/share"
    make_database(data / "goose/sessions/sessions.db", "CREATE TABLE v99 (x)")
    make_database(
        data / "opencode/opencode.db",
        *(f"CREATE TABLE {name} (v99)" for name in ("session", "message", "part")),
    )
    return LesliedRunner(home)


def test_other_agents_are_read_and_the_changed_formats_are_named(
    leslied: LesliedRunner,
):
    synced = leslied("sync")

    status = leslied("status", "--json").json["data"]
    sessions = {agent["name"]: agent["sessions"] for agent in status["agents"]}
    unknown = {(k["agent"], k["version"], k["kind"]) for k in status["unknown_kinds"]}
    unreadable = {a["name"] for a in status["agents"] if a["unreadable"]}
    assert synced.code == 0
    assert sessions["claude-code"] == 1
    assert ("claude-code", "2.1.325", "novelty") in unknown
    assert {"pi", "codex"} <= {agent for agent, _, _ in unknown}
    assert unreadable == {"goose", "opencode"}
    assert status["store"]["rejected"] == 1
    assert status["failures"] == []


def test_the_status_names_unknown_kinds_in_one_line(leslied: LesliedRunner):
    leslied("sync")

    out = leslied("status").out

    assert (
        "claude-code 2.1.325: 1 entry of 1 unknown kind, kept as written: novelty"
        in out
    )


def test_an_unknown_entry_is_kept_as_written(leslied: LesliedRunner):
    leslied("sync")

    query = "SELECT content FROM transcript_entries WHERE type = 'unknown'"
    result = leslied("sql", query)

    assert result.code == 0, result.err
    assert "hologram" in result.out
    assert "everything" in result.out
