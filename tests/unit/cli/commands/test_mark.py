"""Tests of `leslied mark`, and of `leslied list` with marks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.errors import UserError
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import write_session


@pytest.fixture(autouse=True)
def session(claude: ClaudeHome) -> None:
    write_session(claude)
    run("sync")


def run(*args: str) -> str:
    result = CliRunner().invoke(leslied, args, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def run_json(*args: str) -> Any:
    return json.loads(run(*args, "--json"))["data"]


def test_marks_are_changed_and_shown():
    changed = run(
        "mark", "last", "--star", "--tag", "bug", "--tag", "later", "--note", "A note"
    )

    lines = changed.splitlines()
    assert lines[0].startswith("★ Use ")
    assert lines[1:] == ["tags: bug later", "A note"]
    assert run("mark", "last") == changed


def test_marks_are_removed():
    run("mark", "last", "--star", "--tag", "bug", "--note", "A note")

    output = run("mark", "last", "--no-star", "--untag", "bug", "--note", "")

    assert output.splitlines()[1:] == ["No star, no tags, no note."]


def test_json_has_all_marks():
    assert run_json("mark", SESSION[:8], "--unread") == {
        "id": SESSION,
        "agent": "claude-code",
        "starred": False,
        "tags": [],
        "note": None,
        "unread": True,
    }
    assert run("mark", "last").splitlines()[1] == "unread"


def test_without_an_id_stars_and_tags_are_counted():
    assert "No tags yet" in run("mark")
    run("mark", "last", "--star", "--tag", "bug")

    first, _, tags = run("mark").splitlines()
    assert first == "1 session with a star"
    assert tags.split() == ["bug", "1"]
    assert run_json("mark")["starred_sessions"] == 1


def test_a_change_needs_an_id():
    with pytest.raises(UserError, match="Which session"):
        run("mark", "--star")


def test_the_session_shows_its_marks():
    run("mark", "last", "--star", "--tag", "bug", "--note", "A note")

    assert "★ #bug A note" in run("show", "last")


def test_the_list_shows_stars_and_tags_and_is_limited_to_them():
    assert run("list", "--starred") == "No session matches these filters.\n"
    run("mark", "last", "--star", "--tag", "bug")

    (row,) = run("list", "--tag", "bug").splitlines()[1:]
    assert "★ " in row
    (session,) = run_json("list", "--starred")["sessions"]
    assert (session["id"], session["tags"]) == (SESSION, ["bug"])
    assert run_json("list", "--tag", "other")["sessions"] == []
