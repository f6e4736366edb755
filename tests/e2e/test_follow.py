"""`leslied follow`: stored entries, and entries that arrive while it runs."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, load_golden
from tests.support.pages import write_sample_session
from tests.support.terminal import run_at_terminal, show_escapes
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e
GOLDEN = FIXTURES.parent / "pages"
LABEL_WIDTH = 25
"""Characters before the text of a line: the session and its project."""
OTHER_SESSION = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """Sync the sample session and a second one in another folder."""
    write_sample_session(claude)
    builder = ClaudeLogBuilder(OTHER_SESSION, cwd="/home/dev/shop")
    claude.write(
        builder.prompt("sell"), builder.answer("sold"), name=f"b/{OTHER_SESSION}.jsonl"
    )
    command = LesliedRunner(home)
    assert command("sync", "--stop-all").code == 0
    return command


@contextmanager
def run_follow(leslied: LesliedRunner, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Run `leslied follow` until the block ends."""
    process = leslied.start(
        "follow",
        *args,
        environ={"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def test_piped_output_matches_the_golden_file(
    leslied: LesliedRunner, request: pytest.FixtureRequest
):
    output = leslied("follow", "--once").out

    assert output == load_golden(GOLDEN / "follow.txt", output, request.config)


def test_terminal_output_matches_the_golden_file(
    leslied: LesliedRunner, request: pytest.FixtureRequest
):
    output = show_escapes(run_at_terminal(leslied, "follow", "--once", columns=90))

    assert output == load_golden(GOLDEN / "follow-terminal.txt", output, request.config)


@pytest.mark.parametrize(
    "args",
    [
        (OTHER_SESSION[:8],),
        ("--project", "shop"),
        ("--project", "/home/dev/shop"),
        ("--agent", "claude-code", "--project", "shop"),
    ],
)
def test_filters_select_the_followed_sessions(
    leslied: LesliedRunner, args: tuple[str, ...]
):
    output = leslied("follow", "--once", *args).out

    assert "> sell" in output
    assert {line[:8] for line in output.split("\n") if line} == {OTHER_SESSION[:8]}


def test_several_sessions_can_be_followed(leslied: LesliedRunner):
    output = leslied("follow", "--once", OTHER_SESSION, SESSION).out

    assert {line[:8] for line in output.split("\n") if line} == {
        OTHER_SESSION[:8],
        SESSION[:8],
    }


def test_an_unknown_agent_is_reported(leslied: LesliedRunner):
    result = leslied("follow", "--once", "--agent", "nobody")

    assert result.code == 2
    assert "There is no agent 'nobody'." in result.err
    assert "claude-code" in result.err


def test_json_lines_match_the_entries_of_show(leslied: LesliedRunner):
    lines = leslied("follow", "--once", "--json", OTHER_SESSION).out.split("\n")[:-1]

    units = leslied("show", OTHER_SESSION, "--json").json["data"]["units"]
    assert [json.loads(line) for line in lines] == [
        entry for unit in units for entry in unit["entries"]
    ]


def test_new_entries_are_printed_while_follow_runs(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder(
        "77777777-2222-4333-8444-555555555555", cwd="/home/dev/new"
    )
    with run_follow(leslied, "--last", "1") as process:
        assert process.stdout
        assert process.stderr
        warning = process.stderr.readline()
        last_line = process.stdout.readline()
        claude.write(builder.prompt("hello"), name=f"c/{builder.session_id}.jsonl")
        leslied("sync", "--stop-all")
        lines = [process.stdout.readline()[LABEL_WIDTH:].rstrip() for _ in range(3)]

    assert "The daemon is not running" in warning
    assert last_line.rstrip()
    assert lines == [
        f"· session begins · claude-code · /home/dev/new · {builder.session_id}",
        "> hello",
        "· session stopped",
    ]


def test_a_session_is_followed_once_its_folder_is_known(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder("77777777-2222-4333-8444-555555555555", cwd="")
    other = ClaudeLogBuilder(
        "88888888-2222-4333-8444-555555555555", cwd="/home/dev/shop"
    )
    log = f"c/{builder.session_id}.jsonl"
    with run_follow(leslied, "--last", "1", "--project", "shop") as process:
        assert process.stdout
        process.stdout.readline()
        claude.write(builder.prompt("nowhere yet"), name=log)
        claude.write(other.prompt("seen"), name=f"c/{other.session_id}.jsonl")
        leslied("sync")
        # When the other session is shown, this one was seen without its folder.
        first_lines = [process.stdout.readline()[LABEL_WIDTH:].rstrip() for _ in "12"]
        builder.cwd = "/home/dev/shop"
        claude.write(builder.prompt("here"), name=log)
        leslied("sync")
        line = process.stdout.readline()

    assert first_lines[1] == "> seen"
    assert line[LABEL_WIDTH:].rstrip() == "> here"


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN])
def sigint_handler(request: pytest.FixtureRequest) -> Iterator[None]:
    """Handle SIGINT or ignore it; background jobs of a script start with it ignored."""
    previous_handler = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, previous_handler)


@pytest.mark.usefixtures("sigint_handler")
def test_ctrl_c_ends_follow_without_a_traceback(leslied: LesliedRunner):
    with run_follow(leslied, "--last", "1") as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        code = process.wait(MAX_WAIT_SECONDS)
        assert process.stderr
        err = process.stderr.read()

    assert code == 130
    assert "Traceback" not in err


def test_a_closed_pipe_ends_follow_without_a_traceback(leslied: LesliedRunner):
    with run_follow(leslied, "--last", "1") as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        code = process.wait(MAX_WAIT_SECONDS)
        assert process.stderr
        err = process.stderr.read()

    assert code == 0
    assert "Traceback" not in err
