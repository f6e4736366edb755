"""Single keys from the terminal, which is left as it was found, whatever happens."""

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
    """What the bytes of a terminal mean here; keys without a meaning are left out."""
    found = (_KEYS.get(pressed, "") for pressed in _KEY_SEQUENCE.findall(data))
    return [key for key in found if key]


@contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """The terminal on standard input gives single keys, and afterwards is as before."""
    file = sys.stdin.fileno()
    found = termios.tcgetattr(file)
    handlers = {
        each: signal.getsignal(each) for each in (*_TERMINATION_SIGNALS, signal.SIGCONT)
    }
    try:
        # A signal must not end the process before the terminal is what it was.
        for number in _TERMINATION_SIGNALS:
            signal.signal(number, _exit_on_signal)
        # A shell gives the terminal back as it uses it itself.
        signal.signal(signal.SIGCONT, lambda *_: tty.setcbreak(file))
        tty.setcbreak(file)
        yield Keyboard(file)
    finally:
        termios.tcsetattr(file, termios.TCSAFLUSH, found)
        for number, handler in handlers.items():
            signal.signal(number, handler)


class Keyboard:
    """Whoever sits at the terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pending_keys: list[Key] = []

    def wait(self, seconds: float | None) -> Key:
        """The key that was pressed within the time; empty where none was."""
        if not self._pending_keys and select.select([self._fd], [], [], seconds)[0]:
            data = os.read(self._fd, 1024)
            self._pending_keys = parse_keys(data) if data else ["quit"]
        return self._pending_keys.pop(0) if self._pending_keys else ""


def _exit_on_signal(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
