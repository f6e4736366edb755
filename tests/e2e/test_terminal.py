"""Output that differs on a terminal: colours and progress bars."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leslied.pipeline.stages.transcripts import MAX_TRANSCRIPTS
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


def run_with_tty_stderr(
    leslied: LesliedRunner, *args: str, **environ: str
) -> tuple[str, str]:
    """Return standard output, from a pipe, and standard error, from a terminal."""
    master, slave = os.openpty()
    process = subprocess.run(
        [sys.executable, "-m", "leslied", *args],
        env=leslied.environ | {"TERM": "xterm"} | environ,
        stdout=subprocess.PIPE,
        stderr=slave,
        check=False,
        timeout=MAX_WAIT_SECONDS,
    )
    os.close(slave)
    output = b""
    try:
        while part := os.read(master, 4096):
            output += part
    except OSError:
        # Linux raises EIO when no process holds the other end open.
        pass
    finally:
        os.close(master)
    return process.stdout.decode(), output.decode()


def test_an_error_is_red_on_a_terminal(leslied: LesliedRunner):
    _, err = run_with_tty_stderr(leslied, "lst")

    assert err.startswith("\x1b[31mleslied: \x1b[0mThere is no command")


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_an_error_has_no_colour_when_colours_are_off(
    leslied: LesliedRunner, environ: dict[str, str]
):
    _, err = run_with_tty_stderr(leslied, "lst", **environ)

    assert err.startswith("leslied: There is no command")


def test_force_color_keeps_colours_in_a_pipe(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("fix it"), builder.answer("Done."))
    leslied("sync")

    assert "\x1b[" not in leslied("list").out
    assert "\x1b[2mID" in leslied("list", FORCE_COLOR="1").out
    assert "\x1b[" not in leslied("list", FORCE_COLOR="1", NO_COLOR="1").out


def test_the_progress_bar_is_erased_at_the_end(
    leslied: LesliedRunner, claude: ClaudeHome
):
    builder = ClaudeLogBuilder()
    claude.write(*(builder.prompt("x" * 20_000) for _ in range(200)))

    out, err = run_with_tty_stderr(leslied, "sync", "--stop-all", "--json")

    assert json.loads(out)["data"]["units_settled"] == MAX_TRANSCRIPTS
    assert err.rpartition("\x1b[K")[2] == ""
