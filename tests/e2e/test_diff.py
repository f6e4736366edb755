"""`leslied diff` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

FORK = "99999999-2222-4333-8444-555555555555"
KEY = "sk-ant-api03-" + "a1B" * 31 + "AA"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Sync a session and a fork whose last unit differs."""
    builder = ClaudeLogBuilder()
    history = [builder.prompt("fix the login"), builder.answer("It works.")]
    original = [builder.prompt("test it"), builder.answer(f"All pass with {KEY}.")]
    forked = [builder.prompt("test it"), builder.answer("One fails.")]
    name = f"-home-dev-app/{FORK}.jsonl"
    claude.write(*history, *original)
    claude.write(*({**line, "sessionId": FORK} for line in history + forked), name=name)
    command = LesliedRunner(home)
    command("sync")
    return command


def test_the_diff_of_a_fork_shows_only_the_differing_unit(leslied: LesliedRunner):
    result = leslied("diff", SESSION[:6], FORK[:6])

    assert result.code == 0
    assert "1 unit is the same." in result.out
    assert "+ One fails." in result.out
    assert "- All pass with [REDACTED:" in result.out
    assert KEY not in result.out
    assert "\x1b" not in result.out


def test_reveal_shows_secrets(leslied: LesliedRunner):
    assert KEY in leslied("diff", SESSION[:6], FORK[:6], "--reveal").out


def test_a_session_does_not_differ_from_itself(leslied: LesliedRunner):
    result = leslied("diff", SESSION, SESSION)

    assert result.code == 0
    assert result.out.endswith("\nThe sessions have the same content.\n")


def test_json_output_lists_units_and_metadata(leslied: LesliedRunner):
    data = leslied("diff", SESSION[:6], FORK[:6], "--json").json["data"]

    assert (data["a"]["id"], data["b"]["id"]) == (SESSION, FORK)
    assert data["is_same"] is False
    assert [unit["status"] for unit in data["units"]] == ["same", "changed"]
    assert {"field": "units", "a": 2, "b": 2} in data["metadata"]
    assert KEY not in str(data)


def test_two_different_units_can_be_compared(leslied: LesliedRunner):
    units = leslied("show", SESSION, "--json").json["data"]["units"]
    first, second = (unit["chat_id"] for unit in units if unit["prompt"])

    data = leslied("diff", first, second, "--json").json["data"]

    assert (data["a"]["part"], data["b"]["part"]) == (first, second)
    assert [unit["status"] for unit in data["units"]] == ["changed"]
    metadata = {row["field"]: row["a"] for row in data["metadata"]}
    assert (metadata["title"], metadata["output_tokens"]) == ("fix the login", None)


def test_an_unknown_id_is_reported(leslied: LesliedRunner):
    result = leslied("diff", "last", "zzz")

    assert (result.code, result.out) == (2, "")
    assert "has an id that starts with 'zzz'." in result.err
