"""Run the real command in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios

from tests.support.cli import LesliedRunner


def run_at_terminal(
    leslied: LesliedRunner, *args: str, columns: int = 80, **environ: str
) -> str:
    """Run a command and return its output; there is no pager by default."""
    defaults = {"TERM": "xterm-256color", "LESLIED_PAGER": ""}
    master, slave = pty.openpty()
    # Rows, columns, and a size in pixels that nothing reads.
    window_size = struct.pack("HHHH", 40, columns, 0, 0)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, window_size)
    with leslied.start(
        *args,
        environ=defaults | environ,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    ):
        os.close(slave)
        output = b"".join(iter(lambda: _read(master), b""))
        os.close(master)
    return output.decode().replace("\r\n", "\n")


def _read(fd: int) -> bytes:
    """Return the next bytes, or b"" at the end of the output."""
    try:
        return os.read(fd, 65536)
    except OSError:
        # Linux raises EIO when no process holds the other end open.
        return b""


def show_escapes(text: str) -> str:
    """Replace escape characters by printable text for golden files."""
    return text.replace("\x1b", "\\e")
