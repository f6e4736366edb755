"""Read single keys from the terminal and restore its settings afterwards."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

Key = Literal["", "pause", "next", "faster", "slower", "quit"]
_KEYS: dict[bytes, Key] = {
    b" ": "pause",
    b"\r": "next",
    b"\n": "next",
    b"\x1b[C": "next",
    b"\x1bOC": "next",
    b"+": "faster",
    b"=": "faster",
    b"-": "slower",
    b"q": "quit",
    b"Q": "quit",
}
_KEY_SEQUENCE = re.compile(rb"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def parse_keys(data: bytes) -> list[Key]:
    """Decode bytes from the terminal; leave out keys that have no function."""
    keys = (_KEYS.get(sequence, "") for sequence in _KEY_SEQUENCE.findall(data))
    return [key for key in keys if key]


@contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """Switch the terminal on standard input to single keys; restore it at the end."""
    fd = sys.stdin.fileno()
    attributes = termios.tcgetattr(fd)
    handlers = {
        number: signal.getsignal(number)
        for number in (*_TERMINATION_SIGNALS, signal.SIGCONT)
    }
    try:
        # A signal must not end the process before the terminal is restored.
        for number in _TERMINATION_SIGNALS:
            signal.signal(number, _exit_on_signal)
        # After Ctrl-Z and `fg`, the shell has changed the mode of the terminal.
        signal.signal(signal.SIGCONT, lambda *_: tty.setcbreak(fd))
        tty.setcbreak(fd)
        yield Keyboard(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, attributes)
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Keyboard:
    """Source of key presses."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pending_keys: list[Key] = []

    def wait(self, seconds: float | None) -> Key:
        """Return the next key, or "" if none is pressed in time; None waits forever.

        The end of the input counts as `quit`.
        """
        if not self._pending_keys and select.select([self._fd], [], [], seconds)[0]:
            data = os.read(self._fd, 1024)
            self._pending_keys = parse_keys(data) if data else ["quit"]
        return self._pending_keys.pop(0) if self._pending_keys else ""


def _exit_on_signal(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
