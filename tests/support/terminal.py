"""Running the real command as a person does: at a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios

from tests.support.cli import LesliedRunner


def run_at_terminal(
    leslied: LesliedRunner, *words: str, columns: int = 80, **environ: str
) -> str:
    """Everything that reached the terminal; a pager only where one is named."""
    known = {"TERM": "xterm-256color", "LESLIED_PAGER": ""}
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with leslied.start(
        *words,
        environ=known | environ,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ):
        os.close(theirs)
        seen = b"".join(iter(lambda: _read(mine), b""))
        os.close(mine)
    return seen.decode().replace("\r\n", "\n")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:
        # Linux says so when nobody holds the other end any more.
        return b""


def show_escapes(text: str) -> str:
    """The text with its escapes as a golden file can hold them."""
    return text.replace("\x1b", "\\e")
