"""Progress bar on stderr, drawn only on a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self, TypeVar

from leslied.paths import read_environ
from leslied.rendering.humanize import format_bytes, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from leslied.clock import Clock

    T = TypeVar("T")

_DELAY_SECONDS = 0.3
"""Time before the bar first appears, so that short tasks show none."""
_REDRAW_SECONDS = 0.1
_BAR_WIDTH = 24
_DEFAULT_WIDTH = 80
_ERASE = "\r\x1b[K"
"""Escape sequence that moves to the start of the line and clears it."""


class ProgressBar:
    """Progress line that is redrawn in place and erased at the end."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._stream = stream or sys.stderr
        self._is_enabled = (
            self._stream.isatty() and read_environ().get("TERM", "dumb") != "dumb"
        )
        self._is_drawn = False
        # This sets the other attributes; nothing is drawn before `update`.
        self.start("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._erase()

    def start(self, label: str, /, *, in_bytes: bool = False) -> None:
        """Start a new task; `in_bytes` says that its amounts are in bytes."""
        self._erase()
        self._label = label
        self._format_amount = format_bytes if in_bytes else format_number
        self._started_at = self._clock.monotonic()
        self._next_draw_at = self._started_at + _DELAY_SECONDS

    def update(self, done: int, total: int) -> None:
        """Set the progress; redraw at most ten times a second, never if total is 0."""
        if (
            self._is_enabled
            and total
            and (now := self._clock.monotonic()) >= self._next_draw_at
        ):
            self._next_draw_at = now + _REDRAW_SECONDS
            self._is_drawn = True
            line = self._format_line(min(done, total), total, now - self._started_at)
            self._stream.write(_ERASE + line[: self._get_width() - 1])
            self._stream.flush()

    def track(self, items: Sequence[T]) -> Iterator[T]:
        """Yield the items and show how many are done."""
        for number, item in enumerate(items):
            self.update(number, len(items))
            yield item

    def _format_line(self, done: int, total: int, seconds: float) -> str:
        filled = done * _BAR_WIDTH // total
        bar = "█" * filled + "░" * (_BAR_WIDTH - filled)
        amounts = f"{self._format_amount(done)} of {self._format_amount(total)}"
        line = f"{self._label} {bar} {100 * done // total:3d}%  {amounts}"
        if done:
            seconds_left = seconds * (total - done) / done
            line += (
                f", {seconds_left:.0f} s left"
                if seconds_left < 90
                else f", {seconds_left / 60:.0f} min left"
            )
        return line

    def _get_width(self) -> int:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            return _DEFAULT_WIDTH
        return columns or _DEFAULT_WIDTH

    def _erase(self) -> None:
        if self._is_drawn:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._is_drawn = False
