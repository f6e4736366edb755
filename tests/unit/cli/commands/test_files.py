"""`leslied files`: the list, and the history of one file."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from leslied.cli import leslied
from leslied.errors import UserError
from tests.support.claude import ClaudeHome
from tests.support.files import FIRST, NOTES, PARSER, PROJECT, write_file_sessions
from tests.support.queries import SECRET


@pytest.fixture(autouse=True)
def store(claude: ClaudeHome) -> None:
    write_file_sessions(claude)
    run("sync")


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(leslied, args, catch_exceptions=False)
    assert result.exit_code == code
    return result.output


def test_files_are_listed_with_their_numbers():
    _, parser, notes = run("files").splitlines()

    assert parser.split()[:4] == [PARSER, "2", "2", "2"]
    assert notes.split()[:3] == [NOTES, "1", "1"]


def test_the_limit_tells_how_many_files_are_left_out():
    assert "1 file more" in run("files", "-n", "1", "--project", "app")


def test_the_history_shows_prompts_diffs_and_failures():
    output = run("files", PARSER)

    assert output.startswith(f"{PARSER}: 2 changes, 2 failed attempts")
    assert "failed  Fix the parser" in output
    assert "String to replace was not found." in output
    assert "    + a = 1" in output
    assert SECRET not in output


def test_a_change_by_a_shell_is_shown_as_its_command():
    assert "$ echo hello > notes.md" in run("files", NOTES)


def test_the_files_of_a_folder_that_is_gone_are_listed():
    assert PARSER in run("files", f"{PROJECT}/src")
    with pytest.raises(UserError, match="No agent changed"):
        run("files", f"{PROJECT}/other")


def test_older_changes_are_announced():
    assert "There are older changes" in run("files", PARSER, "-n", "1")


def test_both_answers_have_a_json_form():
    files = json.loads(run("files", "--filter", "parser", "--json"))["data"]
    history = json.loads(run("files", PARSER, "--json"))["data"]

    assert [file["project"] for file in files["files"]] == [PROJECT]
    assert history["revisions"][-1]["session_id"] == FIRST


def test_a_selection_without_files_names_the_next_step():
    assert "leslied files" in run("files", "--filter", "zzz")
