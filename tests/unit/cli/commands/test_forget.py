"""Tests of `leslied forget`: what it prints, and what it refuses."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from leslied.cli import leslied
from leslied.errors import UserError
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.prune import list_session_ids, sync_and_archive

IDS = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(25)]


@pytest.fixture
def many_sessions(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> ClaudeHome:
    monkeypatch.setenv("LESLIED_DATA_DIR", str(claude.store_path.parent))
    for session_id in IDS:
        builder = ClaudeLogBuilder(session_id)
        claude.write(
            builder.prompt(f"needle of {session_id}"), name=f"-app/{session_id}.jsonl"
        )
    sync_and_archive(claude)
    return claude


def run(*args: str, **options: str) -> Result:
    return CliRunner().invoke(
        leslied, ["forget", *args], catch_exceptions=False, **options
    )


def test_without_yes_everything_is_counted_and_a_long_list_is_cut(
    many_sessions: ClaudeHome,
):
    output = run("--text", "needle").output

    assert "… and 5 more" in output
    assert "To forget: 25 entries in 25 sessions" in output
    assert "lines in 25 archived logs" in output
    assert "redact.rules" in output
    assert list_session_ids(many_sessions) == set(IDS)


def test_what_was_forgotten_is_counted(many_sessions: ClaudeHome):
    output = run(IDS[3], "--yes").output

    assert "Forgot 1 entry in 1 session (1 as a whole)." in output
    assert f"{IDS[3]}.jsonl" in output
    # The hint at `redact.rules` is only for texts, which could be written again.
    assert "redact.rules" not in output
    assert list_session_ids(many_sessions) == set(IDS) - {IDS[3]}


@pytest.mark.usefixtures("many_sessions")
def test_the_text_is_read_from_standard_input():
    output = run("--text", "-", input=f"needle of {IDS[0]}\n").output

    assert "To forget: 1 entry in 1 session" in output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "one of the two"),
        ((IDS[0], "--text", "needle"), "one of the two"),
        (("--text", ""), "too short"),
        (("--text", " abc  "), "too short"),
    ],
)
def test_an_unclear_request_is_refused(args: tuple[str, ...], message: str):
    with pytest.raises(UserError, match=message):
        run(*args)
