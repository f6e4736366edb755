"""What differs when a person looks on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


def run_with_tty_stderr(
    leslied: LesliedRunner, *words: str, **environ: str
) -> tuple[str, str]:
    """What goes to a pipe, and what is told on a terminal."""
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "leslied", *words],
        env=leslied.environ | {"TERM": "xterm"} | environ,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    os.close(theirs)
    told = b""
    try:
        while part := os.read(ours, 4096):
            told += part
    except OSError:
        # Linux says so where nobody can write any more.
        pass
    finally:
        os.close(ours)
    return done.stdout.decode(), told.decode()


def test_an_error_is_red_on_a_terminal(leslied: LesliedRunner):
    _, told = run_with_tty_stderr(leslied, "lst")

    assert told.startswith("\x1b[31mleslied: \x1b[0mThere is no command")


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_an_error_is_plain_where_no_colour_is_wanted(
    leslied: LesliedRunner, environ: dict[str, str]
):
    _, told = run_with_tty_stderr(leslied, "lst", **environ)

    assert told.startswith("leslied: There is no command")


def test_colours_go_through_a_pipe_where_they_are_forced(
    leslied: LesliedRunner, claude: ClaudeHome
):
    talk = ClaudeLogBuilder()
    claude.write(talk.prompt("fix it"), talk.answer("Done."))
    leslied("sync")

    assert "\x1b[" not in leslied("list").out
    assert "\x1b[2mID" in leslied("list", FORCE_COLOR="1").out
    assert "\x1b[" not in leslied("list", FORCE_COLOR="1", NO_COLOR="1").out


def test_nothing_is_left_of_a_bar(leslied: LesliedRunner, claude: ClaudeHome):
    talk = ClaudeLogBuilder()
    claude.write(*(talk.prompt("x" * 20_000) for _ in range(200)))

    out, told = run_with_tty_stderr(leslied, "sync", "--stop-all", "--json")

    assert json.loads(out)["data"]["units_settled"] == 50
    assert told.rpartition("\x1b[K")[2] == ""
