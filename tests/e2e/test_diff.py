"""Two sessions, compared by the real program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner

pytestmark = pytest.mark.e2e

FORK = "99999999-2222-4333-8444-555555555555"
KEY = "sk-ant-api03-" + "a" * 93 + "AA"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """A session and a fork of it that went another way."""
    talk = ClaudeLogBuilder()
    history = [talk.prompt("fix the login"), talk.answer("It works.")]
    mine = [talk.prompt("test it"), talk.answer(f"All pass with {KEY}.")]
    other = [talk.prompt("test it"), talk.answer("One fails.")]
    name = f"-home-dev-app/{FORK}.jsonl"
    claude.write(*history, *mine)
    claude.write(*({**line, "sessionId": FORK} for line in history + other), name=name)
    command = LesliedRunner(home)
    command("sync")
    return command


def test_forks_are_told_apart_by_what_they_do_not_share(leslied: LesliedRunner):
    ran = leslied("diff", SESSION[:6], FORK[:6])

    assert ran.code == 0
    assert "1 unit is the same." in ran.out
    assert "+ One fails." in ran.out
    assert "- All pass with [REDACTED:" in ran.out
    assert KEY not in ran.out
    assert "\x1b" not in ran.out


def test_secrets_are_told_when_asked_for(leslied: LesliedRunner):
    assert KEY in leslied("diff", SESSION[:6], FORK[:6], "--reveal").out


def test_a_session_and_itself_say_the_same(leslied: LesliedRunner):
    ran = leslied("diff", SESSION, SESSION)

    assert (ran.code, ran.out.endswith("\nThe sessions say the same.\n")) == (0, True)


def test_scripts_are_told_the_same_in_an_envelope(leslied: LesliedRunner):
    data = leslied("diff", SESSION[:6], FORK[:6], "--json").json["data"]

    assert (data["a"]["id"], data["b"]["id"]) == (SESSION, FORK)
    assert data["is_same"] is False
    assert [unit["status"] for unit in data["units"]] == ["same", "changed"]
    assert {"field": "units", "a": 2, "b": 2} in data["metadata"]
    assert KEY not in str(data)


def test_units_are_compared_however_unlike(leslied: LesliedRunner):
    units = leslied("show", SESSION, "--json").json["data"]["units"]
    one, two = (unit["chat_id"] for unit in units if unit["prompt"])

    data = leslied("diff", one, two, "--json").json["data"]

    assert (data["a"]["part"], data["b"]["part"]) == (one, two)
    assert [unit["status"] for unit in data["units"]] == ["changed"]
    facts = {each["field"]: each["a"] for each in data["metadata"]}
    assert (facts["title"], facts["output_tokens"]) == ("fix the login", None)


def test_an_id_that_nobody_has_is_a_sentence(leslied: LesliedRunner):
    ran = leslied("diff", "last", "zzz")

    assert (ran.code, ran.out) == (2, "")
    assert "has an id that starts with 'zzz'." in ran.err
