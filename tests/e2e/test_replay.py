"""A session played again by the real program, on a terminal and without one."""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.e2e

KEY = "sk-ant-api03-" + "a" * 93 + "AA"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt("fix the login"),
        talk.call("Bash", {"command": "make"}, "t1"),
        talk.result("t1", f"made \x1b]0;pwned\x07 with {KEY}"),
        talk.answer("It works."),
        talk.prompt("thank you"),
        talk.answer("You are welcome."),
    )
    command = LesliedRunner(home)
    command("sync")
    return command


class PtyTerminal:
    """The program on a terminal of its own."""

    def __init__(self, leslied: LesliedRunner, *words: str) -> None:
        self.ours, theirs = pty.openpty()
        self.theirs = theirs
        self.before = termios.tcgetattr(theirs)
        self.seen = b""
        self.process = leslied.start(
            *words,
            environ={"TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )

    def read_until(self, words: str, patience: float = PATIENCE_SECONDS) -> None:
        deadline = time.monotonic() + patience
        while words not in click.unstyle(self.seen.decode(errors="replace")):
            left = deadline - time.monotonic()
            assert left > 0, self.seen.decode()
            if select.select([self.ours], [], [], left)[0]:
                self.seen += os.read(self.ours, 4096)

    def press(self, keys: bytes) -> None:
        os.write(self.ours, keys)

    def end(self) -> int:
        """The exit code, with all that was said until then seen."""
        code = self.process.wait(PATIENCE_SECONDS)
        while select.select([self.ours], [], [], 0)[0]:
            self.seen += os.read(self.ours, 4096)
        return code

    @property
    def is_restored(self) -> bool:
        return termios.tcgetattr(self.theirs) == self.before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def held(leslied: LesliedRunner) -> Iterator[PtyTerminal]:
    """A session that would play for hours and has begun."""
    slow = ("--speed", "0.125", "--max-pause", "3600")
    terminal = PtyTerminal(leslied, "replay", "last", *slow)
    terminal.read_until("unit 1")
    yield terminal
    terminal.close()


def test_piped_it_comes_plain_and_at_once(leslied: LesliedRunner):
    ran = leslied("replay", "last")

    assert ran.code == 0
    assert "> fix the login\n\n● Bash make\n" in ran.out
    assert ran.out.index("It works.") < ran.out.index("> thank you")
    assert "\x1b" not in ran.out
    assert KEY not in ran.out
    assert "space pauses" not in ran.out


def test_it_begins_where_it_is_told_to(leslied: LesliedRunner):
    shown = leslied("replay", SESSION[:8], "--from", "2").out

    assert "> thank you" in shown
    assert "> fix the login" not in shown


def test_a_unit_that_is_not_there_is_a_sentence(leslied: LesliedRunner):
    ran = leslied("replay", "last", "--from", "3")

    assert (ran.code, ran.out) == (2, "")
    assert "There is no unit 3: it has 2 units." in ran.err


@pytest.mark.parametrize("speed", ["-1", "nan", "inf", "fast"])
def test_a_speed_that_is_none_is_a_sentence(leslied: LesliedRunner, speed: str):
    ran = leslied("replay", "last", f"--speed={speed}")

    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err


def test_on_a_terminal_it_plays_to_its_end_and_leaves_it_as_it_was(
    leslied: LesliedRunner,
):
    terminal = PtyTerminal(leslied, "replay", "last", "--speed", "1000")
    terminal.read_until("welcome.")

    assert terminal.end() == 0
    assert terminal.is_restored
    assert b"\x1b]0;pwned" not in terminal.seen
    terminal.close()


def test_next_brings_the_next_entry_and_quit_ends(held: PtyTerminal):
    held.press(b"\x1b[C")
    held.read_until("● Bash make")
    held.press(b"q")

    assert held.end() == 0
    assert held.is_restored


def test_while_it_plays_keys_are_not_echoed(held: PtyTerminal):
    held.press(b"\r")
    held.read_until("● Bash make")

    mode = termios.tcgetattr(held.theirs)[3]
    assert not mode & (termios.ECHO | termios.ICANON)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_ends_it_and_leaves_the_terminal_as_it_was(
    held: PtyTerminal, number: int, code: int
):
    held.press(b"\r")
    held.read_until("● Bash make")
    held.process.send_signal(number)

    assert held.end() == code
    assert held.is_restored
    assert b"Traceback" not in held.seen
