"""Output of long texts: through a pager on a terminal, else directly."""

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
_MAX_PRINTED_CHARACTERS = 1024 * 1024
"""Longer lines without colours are printed in parts of this length."""
_LESS_FLAGS = "FRX"
"""Quit if one screen is enough, pass colours through, keep the text on exit."""


def show_lines(
    lines: Iterable[str], environ: Mapping[str, str], *, is_paged: bool
) -> None:
    """Show the lines, consuming them lazily; stop when the pager quits."""
    command = find_pager(environ) if is_paged and sys.stdout.isatty() else []
    pager = _start_pager(command, environ) if command else None
    if pager is None:
        _print_lines(lines)
    else:
        _write_to_pager(pager, lines)


def find_pager(environ: Mapping[str, str]) -> list[str]:
    """Return the pager's command line, empty if no pager should run."""
    if environ.get("TERM", "dumb") == "dumb":
        return []
    setting = environ.get("LESLIED_PAGER", environ.get("PAGER", _PAGER))
    try:
        command = shlex.split(setting)
    except ValueError:
        return []
    if command and command[0].rpartition("/")[2] == _PAGER:
        # The user's own LESS variable may lack -R, without which colours are garbled.
        command.append("-R")
    return [] if command == ["cat"] else command


def _start_pager(
    command: list[str], environ: Mapping[str, str]
) -> subprocess.Popen[bytes] | None:
    """Start the pager; return None if it cannot be started."""
    try:
        return subprocess.Popen(  # noqa: S603 - the user chose the program
            command,
            stdin=subprocess.PIPE,
            env={"LESS": _LESS_FLAGS, "LV": "-c", "LESSCHARSET": "utf-8", **environ},
        )
    except OSError:
        return None


def _write_to_pager(pager: subprocess.Popen[bytes], lines: Iterable[str]) -> None:
    # Leave Ctrl-C to the pager: if this process exited, the pager would keep running
    # without control of the terminal.
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with contextlib.suppress(BrokenPipeError), pager:
            for line in lines:
                assert pager.stdin is not None  # noqa: S101 - set by stdin=PIPE
                pager.stdin.write(line.encode(errors="replace") + b"\n")
                pager.stdin.flush()
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        _print_line(line)


def _print_line(line: str) -> None:
    # Click copies each text that it prints, and a line may be a whole file.
    if len(line) > _MAX_PRINTED_CHARACTERS and "\x1b" not in line:
        for start in range(0, len(line), _MAX_PRINTED_CHARACTERS):
            click.echo(line[start : start + _MAX_PRINTED_CHARACTERS], nl=False)
        line = ""
    click.echo(line)
