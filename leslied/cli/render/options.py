"""Options for rendering records: how much is shown, width, colours."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import Struct

from leslied.cli.render.widths import measure_width, truncate_to_width
from leslied.graphemes import ellipsize, take_characters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

ToolOutput = Literal["none", "short", "whole"]
MAX_PLAIN_CHARS = 160
"""Length of a truncated line of plain output."""
_MAX_PROSE_WIDTH = 100
"""Longer lines of prose are hard to read, even on a wide terminal."""
_MIN_WIDTH = 20
_MAX_WIDTH = 1000


class Gap(str):
    """Separator line, empty except for its indent; adjacent gaps are collapsed."""

    __slots__ = ()


class RenderOptions(Struct, frozen=True, kw_only=True):
    """Options for rendering records; by default, short plain text as for a pipe."""

    width: int = 0
    """Columns of the terminal; 0 for plain text without colours and wrapping."""
    folder: str = ""
    """Working directory of the session; paths below it are shown relative to it."""
    is_full: bool = False
    """Whether to show all arguments of calls, all events and unknown records."""
    include_thinking: bool = False
    tool_output: ToolOutput = "short"
    """How much of a tool result to show; with "none", calls are left out as well."""
    max_result_lines: int = 4
    max_edit_lines: int = 16

    @property
    def is_rich(self) -> bool:
        """Return whether the output is a terminal that shows colours."""
        return self.width > 0

    def paint(self, text: str, **style: Any) -> str:
        """Style the text if the output is rich."""
        return click.style(text, **style) if text and self.width else text

    def width_after(self, indent: str, *, is_prose: bool = False) -> int:
        """Return the number of columns after the indent, but at least a minimum.

        Prose is limited to a readable width.
        """
        columns = self.width - measure_width(indent)
        return max(min(columns, _MAX_PROSE_WIDTH) if is_prose else columns, _MIN_WIDTH)

    def wrap(self, line: str, width: int) -> Iterator[str]:
        """Yield the pieces of the wrapped line; plain output is not wrapped."""
        if not self.width or (
            line.isascii() and "\t" not in line and len(line) < width
        ):
            yield line
        else:
            yield from _wrap(line, width)

    def truncate(self, line: str, width: int) -> str:
        """Cut the line to the width and append an ellipsis if it was longer.

        Plain output has no width; its lines are cut to MAX_PLAIN_CHARS.
        """
        if not self.width:
            return ellipsize(line, MAX_PLAIN_CHARS)
        # Cut before measuring: a line may be a whole file.
        line = take_characters(line, 8 * width).expandtabs(4)
        return truncate_to_width(line, width)

    def shorten_path(self, path: str) -> str:
        """Make a path below the session's folder relative, except in plain output."""
        base = self.folder.rstrip("/") + "/"
        if self.width and self.folder and path.startswith(base):
            return path[len(base) :] or path
        return path


def format_more_lines(number: int) -> str:
    """Format the number of lines that are left out."""
    return f"… {number} more line{'' if number == 1 else 's'}"


def collapse_gaps(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines with adjacent gaps collapsed into one, and none at the end."""
    gap: str | None = None
    for line in lines:
        if isinstance(line, Gap):
            # The shorter gap belongs to the outer block.
            gap = line if gap is None else min(gap, line, key=len)
            continue
        if gap is not None:
            yield gap
            gap = None
        yield line


def find_terminal_width() -> int:
    """Return the terminal's width; 0 if stdout is not a terminal or colour is off."""
    context = click.get_current_context(silent=True)
    is_colorless = context is not None and context.color is False
    if is_colorless or not sys.stdout.isatty():
        return 0
    from shutil import get_terminal_size  # noqa: PLC0415 - slow to load

    return min(get_terminal_size().columns, _MAX_WIDTH)


def _wrap(line: str, width: int) -> Iterator[str]:
    from rich.text import Text  # noqa: PLC0415 - only terminals wrap

    for piece in Text(line).wrap(_get_console(), width, tab_size=4):
        yield piece.plain.rstrip()


@cache
def _get_console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - only terminals wrap

    return Console()
