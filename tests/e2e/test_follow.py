"""`leslied follow`: what is there, and what comes while it runs."""

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
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e
GOLDEN = FIXTURES.parent / "pages"
OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    """A session with something of everything, and another in another folder."""
    write_sample_session(claude)
    talk = ClaudeLogBuilder(OTHER, cwd="/home/dev/shop")
    claude.write(talk.prompt("sell"), talk.answer("sold"), name=f"b/{OTHER}.jsonl")
    command = LesliedRunner(home)
    assert command("sync", "--stop-all").code == 0
    return command


@contextmanager
def run_follow(leslied: LesliedRunner, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`leslied follow`, until the block ends."""
    process = leslied.start(
        "follow",
        *words,
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


def test_a_pipe_gets_the_golden_lines(
    leslied: LesliedRunner, request: pytest.FixtureRequest
):
    told = leslied("follow", "--once").out

    assert told == load_golden(GOLDEN / "follow.txt", told, request.config)


def test_a_terminal_gets_the_golden_lines(
    leslied: LesliedRunner, request: pytest.FixtureRequest
):
    told = show_escapes(run_at_terminal(leslied, "follow", "--once", columns=90))

    assert told == load_golden(GOLDEN / "follow-terminal.txt", told, request.config)


@pytest.mark.parametrize(
    "words",
    [
        (OTHER[:8],),
        ("--project", "shop"),
        ("--project", "/home/dev/shop"),
        ("--agent", "claude-code", "--project", "shop"),
    ],
)
def test_only_those_asked_for_are_followed(
    leslied: LesliedRunner, words: tuple[str, ...]
):
    told = leslied("follow", "--once", *words).out

    assert "> sell" in told
    assert {line[:8] for line in told.split("\n") if line} == {OTHER[:8]}


def test_several_ids_are_several_sessions(leslied: LesliedRunner):
    told = leslied("follow", "--once", OTHER, SESSION).out

    assert {line[:8] for line in told.split("\n") if line} == {OTHER[:8], SESSION[:8]}


def test_an_unknown_agent_is_a_sentence(leslied: LesliedRunner):
    ran = leslied("follow", "--once", "--agent", "nobody")

    assert ran.code == 2
    assert "Nothing is known of an agent 'nobody'." in ran.err
    assert "claude-code" in ran.err


def test_json_is_a_record_a_line_as_show_tells_it(leslied: LesliedRunner):
    lines = leslied("follow", "--once", "--json", OTHER).out.split("\n")[:-1]

    shown = leslied("show", OTHER, "--json").json["data"]["units"]
    assert [json.loads(line) for line in lines] == [
        entry for unit in shown for entry in unit["entries"]
    ]


def test_what_comes_while_it_runs_is_told(leslied: LesliedRunner, claude: ClaudeHome):
    talk = ClaudeLogBuilder("77777777-2222-4333-8444-555555555555", cwd="/home/dev/new")
    with run_follow(leslied, "--last", "1") as process:
        assert process.stdout
        assert process.stderr
        warning = process.stderr.readline()
        last = process.stdout.readline()
        claude.write(talk.prompt("hello"), name=f"c/{talk.session_id}.jsonl")
        leslied("sync", "--stop-all")
        come = [process.stdout.readline()[25:].rstrip() for _ in range(3)]

    assert "The daemon does not run" in warning
    assert last.rstrip()
    assert come == [
        f"· session begins · claude-code · /home/dev/new · {talk.session_id}",
        "> hello",
        "· session stopped",
    ]


def test_a_session_that_tells_its_folder_late_is_followed_from_then_on(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder("77777777-2222-4333-8444-555555555555", cwd="")
    log = f"c/{talk.session_id}.jsonl"
    with run_follow(leslied, "--last", "1", "--project", "shop") as process:
        assert process.stdout
        process.stdout.readline()
        claude.write(talk.prompt("nowhere yet"), name=log)
        leslied("sync")
        talk.cwd = "/home/dev/shop"
        claude.write(talk.prompt("here"), name=log)
        leslied("sync")
        come = process.stdout.readline()

    assert come[25:].rstrip() == "> here"


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN])
def handler(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run with SIGINT handled, then ignored as in a background job of a script."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handler")
def test_ctrl_c_ends_it_without_a_word(leslied: LesliedRunner):
    with run_follow(leslied, "--last", "1") as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_SECONDS)
        assert process.stderr
        said = process.stderr.read()

    assert code == 130
    assert "Traceback" not in said


def test_it_ends_when_nobody_reads_any_more(leslied: LesliedRunner):
    with run_follow(leslied, "--last", "1") as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        code = process.wait(PATIENCE_SECONDS)
        assert process.stderr
        said = process.stderr.read()

    assert code == 0
    assert "Traceback" not in said
