"""How entries are to be seen: how much of them, how wide, in colour or plain."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

Output = Literal["none", "short", "whole"]
PLAIN_WIDTH = 160
_WIDEST_TEXT = 100
"""Longer lines of prose are hard to read, however wide the terminal is."""
_NARROWEST = 20

_WIDEST = 1000


class Gap(str):
    """An empty line that keeps others apart: several in a row are one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How entries are shown; by default cut, and plain as for a pipe."""

    width: int = 0
    """The terminal's columns; 0 where nothing is coloured, rendered or wrapped."""
    folder: str = ""
    """Where the session works: paths below it are shown from there."""
    is_full: bool = False
    has_thinking: bool = False
    output: Output = "short"
    result_lines: int = 4
    edit_lines: int = 16

    @property
    def is_rich(self) -> bool:
        """Whether a person looks on, at a terminal that shows colours."""
        return self.width > 0

    def paint(self, text: str, **style: Any) -> str:
        """The text in colour, where there is any."""
        return click.style(text, **style) if text and self.width else text

    def room(self, indent: str, *, is_text: bool = False) -> int:
        """The columns that are left behind the indent."""
        left = self.width - measure(indent)
        return max(min(left, _WIDEST_TEXT) if is_text else left, _NARROWEST)

    def fit(self, line: str, room: int) -> Iterator[str]:
        """The line in as many pieces as it takes; in one, where nothing is wrapped."""
        if not self.width or (line.isascii() and "\t" not in line and len(line) < room):
            yield line
        else:
            yield from _wrap(line, room)

    def cut(self, line: str, room: int) -> str:
        """As much of the line as there is room for, with a mark where it was cut."""
        if not self.width:
            return line if len(line) <= PLAIN_WIDTH else line[: PLAIN_WIDTH - 1] + "…"
        from rich.cells import cell_len, set_cell_size  # noqa: PLC0415

        # Only so much can be seen; a line may be a whole file.
        line = line[: 2 * room].expandtabs(4)
        if cell_len(line) <= room:
            return line
        return set_cell_size(line, room - 1).rstrip() + "…"

    def shorten(self, path: str) -> str:
        """The path from the session's folder on, where it lies below it."""
        base = self.folder.rstrip("/") + "/"
        if self.width and self.folder and path.startswith(base):
            return path[len(base) :] or path
        return path


def say_more(number: int) -> str:
    """How many lines are left out."""
    return f"… {number} more line{'' if number == 1 else 's'}"


def squeeze(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with one empty line where several keep the same lines apart."""
    gap: str | None = None
    for line in lines:
        if isinstance(line, Gap):
            # The shorter one stands outside of what just ended.
            gap = line if gap is None else min(gap, line, key=len)
            continue
        if gap is not None:
            yield gap
            gap = None
        yield line


def measure(text: str) -> int:
    """The columns that the text takes, colours aside."""
    from rich.cells import cell_len  # noqa: PLC0415 - plain text is never measured

    return cell_len(click.unstyle(text))


def find_width() -> int:
    """The columns of the terminal that output goes to; 0 where it takes no colours."""
    context = click.get_current_context(silent=True)
    is_muted = context is not None and context.color is False
    if is_muted or not sys.stdout.isatty():
        return 0
    from shutil import get_terminal_size  # noqa: PLC0415 - slow to load

    return min(get_terminal_size().columns, _WIDEST)


def _wrap(line: str, room: int) -> Iterator[str]:
    from rich.text import Text  # noqa: PLC0415 - only terminals wrap

    for piece in Text(line).wrap(_console(), room, tab_size=4):
        yield piece.plain.rstrip()


@cache
def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - only terminals wrap

    return Console()
