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

ToolOutput = Literal["none", "short", "whole"]
MAX_PLAIN_CHARS = 160
_MAX_PROSE_WIDTH = 100
"""Longer lines of prose are hard to read, however wide the terminal is."""
_MIN_WIDTH = 20

_MAX_WIDTH = 1000


class Gap(str):
    """An empty line that keeps others apart: several in a row are one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How entries are shown; by default cut, and plain as for a pipe."""

    width: int = 0
    """The terminal's columns; 0 where nothing is coloured, rendered or wrapped."""
    folder: str = ""
    """Where the session works: paths below it are shown from there."""
    is_full: bool = False
    include_thinking: bool = False
    tool_output: ToolOutput = "short"
    max_result_lines: int = 4
    max_edit_lines: int = 16

    @property
    def is_rich(self) -> bool:
        """Whether a person looks on, at a terminal that shows colours."""
        return self.width > 0

    def paint(self, text: str, **style: Any) -> str:
        """The text in colour, where there is any."""
        return click.style(text, **style) if text and self.width else text

    def width_after(self, indent: str, *, is_prose: bool = False) -> int:
        """The columns that are left behind the indent."""
        left = self.width - measure_width(indent)
        return max(min(left, _MAX_PROSE_WIDTH) if is_prose else left, _MIN_WIDTH)

    def wrap(self, line: str, width: int) -> Iterator[str]:
        """The line in as many pieces as it takes; in one, where nothing is wrapped."""
        if not self.width or (
            line.isascii() and "\t" not in line and len(line) < width
        ):
            yield line
        else:
            yield from _wrap(line, width)

    def truncate(self, line: str, width: int) -> str:
        """As much of the line as there is room for, with a mark where it was cut."""
        if not self.width:
            return (
                line
                if len(line) <= MAX_PLAIN_CHARS
                else line[: MAX_PLAIN_CHARS - 1] + "…"
            )
        from rich.cells import cell_len, set_cell_size  # noqa: PLC0415

        # Only so much can be seen; a line may be a whole file.
        line = line[: 2 * width].expandtabs(4)
        if cell_len(line) <= width:
            return line
        return set_cell_size(line, width - 1).rstrip() + "…"

    def shorten_path(self, path: str) -> str:
        """The path from the session's folder on, where it lies below it."""
        base = self.folder.rstrip("/") + "/"
        if self.width and self.folder and path.startswith(base):
            return path[len(base) :] or path
        return path


def format_more_lines(number: int) -> str:
    """How many lines are left out."""
    return f"… {number} more line{'' if number == 1 else 's'}"


def collapse_gaps(lines: Iterable[str]) -> Iterator[str]:
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


def measure_width(text: str) -> int:
    """The columns that the text takes, colours aside."""
    from rich.cells import cell_len  # noqa: PLC0415 - plain text is never measured

    return cell_len(click.unstyle(text))


def find_terminal_width() -> int:
    """The columns of the terminal that output goes to; 0 where it takes no colours."""
    context = click.get_current_context(silent=True)
    is_muted = context is not None and context.color is False
    if is_muted or not sys.stdout.isatty():
        return 0
    from shutil import get_terminal_size  # noqa: PLC0415 - slow to load

    return min(get_terminal_size().columns, _MAX_WIDTH)


def _wrap(line: str, width: int) -> Iterator[str]:
    from rich.text import Text  # noqa: PLC0415 - only terminals wrap

    for piece in Text(line).wrap(_console(), width, tab_size=4):
        yield piece.plain.rstrip()


@cache
def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - only terminals wrap

    return Console()
