"""`leslied replay`, on a terminal and piped."""

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
from tests.support.waiting import MAX_WAIT_SECONDS

pytestmark = pytest.mark.e2e

RIGHT_ARROW = b"\x1b[C"
KEY = "sk-ant-api03-" + "a1B" * 31 + "AA"


@pytest.fixture
def leslied(home: Path, claude: ClaudeHome) -> LesliedRunner:
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("fix the login"),
        builder.call("Bash", {"command": "make"}, "t1"),
        builder.result("t1", f"made \x1b]0;pwned\x07 with {KEY}"),
        builder.answer("It works."),
        builder.prompt("thank you"),
        builder.answer("You are welcome."),
    )
    command = LesliedRunner(home)
    command("sync")
    return command


class PtyTerminal:
    """Run leslied on a pseudo-terminal and press keys."""

    def __init__(self, leslied: LesliedRunner, *args: str) -> None:
        self.master, slave = pty.openpty()
        self.slave = slave
        self.original_mode = termios.tcgetattr(slave)
        self.output = b""
        self.process = leslied.start(
            *args,
            environ={"TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )

    def read_until(self, text: str, seconds: float = MAX_WAIT_SECONDS) -> None:
        """Read until the output contains the text; fail after `seconds`."""
        deadline = time.monotonic() + seconds
        while text not in click.unstyle(self.output.decode(errors="replace")):
            remaining = deadline - time.monotonic()
            assert remaining > 0, self.output.decode()
            if select.select([self.master], [], [], remaining)[0]:
                self.output += os.read(self.master, 4096)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def end(self) -> int:
        """Wait for the exit, read the remaining output, return the exit code."""
        code = self.process.wait(MAX_WAIT_SECONDS)
        while select.select([self.master], [], [], 0)[0]:
            self.output += os.read(self.master, 4096)
        return code

    @property
    def has_original_mode(self) -> bool:
        """Whether the terminal's settings are as before the command."""
        return termios.tcgetattr(self.slave) == self.original_mode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def slow_replay(leslied: LesliedRunner) -> Iterator[PtyTerminal]:
    """Start a replay that takes hours and wait for its first line."""
    slow_options = ("--speed", "0.125", "--max-pause", "3600")
    terminal = PtyTerminal(leslied, "replay", "last", *slow_options)
    terminal.read_until("unit 1")
    yield terminal
    terminal.close()


def test_piped_output_is_plain_and_immediate(leslied: LesliedRunner):
    result = leslied("replay", "last")

    assert result.code == 0
    assert "> fix the login\n\n● Bash make\n" in result.out
    assert result.out.index("It works.") < result.out.index("> thank you")
    assert "\x1b" not in result.out
    assert KEY not in result.out
    assert "space: pause" not in result.out


def test_the_option_from_selects_the_first_unit(leslied: LesliedRunner):
    output = leslied("replay", SESSION[:8], "--from", "2").out

    assert "> thank you" in output
    assert "> fix the login" not in output


def test_a_missing_unit_is_reported(leslied: LesliedRunner):
    result = leslied("replay", "last", "--from", "3")

    assert (result.code, result.out) == (2, "")
    assert "There is no unit 3: the session has 2 units." in result.err


@pytest.mark.parametrize("speed", ["-1", "nan", "inf", "fast"])
def test_an_invalid_speed_is_reported(leslied: LesliedRunner, speed: str):
    result = leslied("replay", "last", f"--speed={speed}")

    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err


def test_a_replay_restores_the_terminal_at_its_end(
    leslied: LesliedRunner,
):
    terminal = PtyTerminal(leslied, "replay", "last", "--speed", "1000")
    terminal.read_until("welcome.")

    assert terminal.end() == 0
    assert terminal.has_original_mode
    assert b"\x1b]0;pwned" not in terminal.output
    terminal.close()


def test_keys_skip_to_the_next_entry_and_quit(slow_replay: PtyTerminal):
    slow_replay.press(RIGHT_ARROW)
    slow_replay.read_until("● Bash make")
    slow_replay.press(b"q")

    assert slow_replay.end() == 0
    assert slow_replay.has_original_mode


def test_keys_are_not_echoed_during_a_replay(slow_replay: PtyTerminal):
    slow_replay.press(b"\r")
    slow_replay.read_until("● Bash make")

    local_flags = termios.tcgetattr(slow_replay.slave)[3]
    assert not local_flags & (termios.ECHO | termios.ICANON)


@pytest.mark.parametrize(
    ("signal_number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_ends_the_replay_and_restores_the_terminal(
    slow_replay: PtyTerminal, signal_number: int, code: int
):
    slow_replay.press(b"\r")
    slow_replay.read_until("● Bash make")
    slow_replay.process.send_signal(signal_number)

    assert slow_replay.end() == code
    assert slow_replay.has_original_mode
    assert b"Traceback" not in slow_replay.output
