"""Lines for a person: in a pager where they sit at a terminal, else as they come."""

from __future__ import annotations

import contextlib
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PAGER = "less"
_LESS_FLAGS = "FRX"
"""No pager for less than a screen, colours as they are, nothing wiped at the end."""


def show_lines(
    lines: Iterable[str], environ: Mapping[str, str], *, is_paged: bool
) -> None:
    """The lines are seen; each is made when it is needed, and none after a `q`."""
    command = find_pager(environ) if is_paged and sys.stdout.isatty() else []
    pager = _start(command, environ) if command else None
    if pager is None:
        _print(lines)
    else:
        _write_to_pager(pager, lines)


def find_pager(environ: Mapping[str, str]) -> list[str]:
    """The words that start the pager; none where nobody wants one."""
    if environ.get("TERM", "dumb") == "dumb":
        return []
    wanted = environ.get("LESLIED_PAGER", environ.get("PAGER", _PAGER))
    try:
        words = shlex.split(wanted)
    except ValueError:
        return []
    if words and words[0].rpartition("/")[2] == _PAGER:
        # Also where the person's own LESS does not say so.
        words.append("-R")
    return [] if words == ["cat"] else words


def _start(
    command: list[str], environ: Mapping[str, str]
) -> subprocess.Popen[bytes] | None:
    """The pager; None where it cannot be started."""
    try:
        return subprocess.Popen(  # noqa: S603 - the person's own choice
            command,
            stdin=subprocess.PIPE,
            env={"LESS": _LESS_FLAGS, "LV": "-c", "LESSCHARSET": "utf-8", **environ},
        )
    except OSError:
        return None


def _write_to_pager(pager: subprocess.Popen[bytes], lines: Iterable[str]) -> None:
    # Ctrl-C is the pager's while it runs: without us it would lose the terminal.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with contextlib.suppress(BrokenPipeError), pager:
            for line in lines:
                assert pager.stdin is not None  # noqa: S101 - it was asked for
                pager.stdin.write(line.encode(errors="replace") + b"\n")
                pager.stdin.flush()
    finally:
        signal.signal(signal.SIGINT, before)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
