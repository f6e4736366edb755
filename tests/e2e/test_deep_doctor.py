"""`leslied doctor --deep` proves that no entry of any log is missing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon, get_store_path
from tests.support.log_proofs import change_store

pytestmark = pytest.mark.e2e

OTHER = "22222222-2222-4333-8444-555555555555"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Sync two sessions."""
    for session_id in (SESSION, OTHER):
        builder = ClaudeLogBuilder(session_id)
        name = f"-home-dev-app/{session_id}.jsonl"
        claude.write(builder.prompt("one"), builder.answer("two"), name=name)
    leslied = LesliedRunner(home)
    assert leslied("sync", "--stop-all").code == 0
    return leslied


def test_a_complete_store_passes(leslied: LesliedRunner):
    result = leslied("doctor", "--deep")

    assert result.code == 0, result.out + result.err
    assert "✓ claude-code: 2 logs" in result.out
    assert "4 entries: 4 as records" in result.out


def test_a_lost_record_fails_with_its_position(leslied: LesliedRunner, home: Path):
    change_store(
        get_store_path(home),
        "DELETE FROM record WHERE id = (SELECT max(id) FROM record "
        "WHERE type = 'assistant_message')",
    )

    result = leslied("doctor", "--deep")
    data = leslied("doctor", "--deep", "--json")

    (agent,) = data.json["data"]["logs"]["agents"]
    (example,) = [e for source in agent["sources"] for e in source["examples"]]
    assert (result.code, data.code) == (1, 1)
    assert "1 of 2 entries are missing" in result.out
    assert "the store has no record of it" in result.out
    assert agent["missing"] == 1
    assert example["offset"] > 0


def test_pruned_and_forgotten_entries_are_not_missing(leslied: LesliedRunner):
    assert leslied("forget", OTHER, "--yes").code == 0
    assert leslied("prune", "--keep", "0", "--failed", "--yes").code == 0

    data = leslied("doctor", "--deep", "--json")

    (agent,) = data.json["data"]["logs"]["agents"]
    assert data.code == 0, data.out
    assert agent["deleted"] == 4
    assert agent["missing"] == 0


def test_one_agent_can_be_compared(leslied: LesliedRunner, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder(SESSION).prompt("unread"))

    codex_result = leslied("doctor", "--deep", "--agent", "codex")
    claude_result = leslied("doctor", "--deep", "--agent", "claude-code")

    assert codex_result.code == 0
    assert claude_result.code == 1
    assert "Read them now: leslied sync" in claude_result.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--deep", "--agent", "nobody"), "There is no agent 'nobody'."),
        (("--agent", "codex"), "--agent needs --deep."),
    ],
)
def test_wrong_options_are_explained(
    leslied: LesliedRunner, args: tuple[str, ...], message: str
):
    result = leslied("doctor", *args)

    assert result.code == 2
    assert message in result.err


def test_without_a_store_there_is_nothing_to_compare(home: Path):
    result = LesliedRunner(home)("doctor", "--deep", "--json")

    assert "logs" not in result.json["data"]


def test_a_deep_check_runs_beside_the_daemon(home: Path, claude: ClaudeHome):
    claude.write(ClaudeLogBuilder().prompt("one"))
    daemon = Daemon(home)
    daemon.wait_for_scan()

    result = LesliedRunner(home)("doctor", "--deep")

    assert daemon.end(signal.SIGTERM) == 0
    assert result.code == 0, result.out
    assert "the daemon is running" in result.out
    assert "✓ claude-code: 1 log" in result.out


def test_no_progress_is_drawn_without_a_terminal(leslied: LesliedRunner):
    assert leslied("doctor", "--deep").err == ""
