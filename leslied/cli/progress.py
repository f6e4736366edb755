"""A bar on stderr while long work is under way and a person looks on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self, TypeVar

from leslied.cli.output import say_number
from leslied.paths import read_environ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from leslied.clock import Clock

    T = TypeVar("T")

_PATIENCE = 0.3
"""Work that is done by then needs no bar."""
_PAUSE = 0.1
_LENGTH = 24
_ERASE = "\r\x1b[K"


class Bar:
    """One line that is drawn again and again, and gone at the end."""

    def __init__(self, clock: Clock, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._stream = stream or sys.stderr
        self._is_seen = (
            self._stream.isatty() and read_environ().get("TERM", "dumb") != "dumb"
        )
        self._is_drawn = False
        self.begin("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._erase()

    def begin(self, label: str, say: Callable[[int], str] = say_number) -> None:
        """Other work begins; `say` tells its amounts."""
        self._erase()
        self._label, self._say = label, say
        self._began = self._clock.monotonic()
        self._next = self._began + _PATIENCE

    def tell(self, done: int, total: int) -> None:
        """So much is done; it is drawn where it is time to, and costs nothing else."""
        if self._is_seen and total and (now := self._clock.monotonic()) >= self._next:
            self._next = now + _PAUSE
            self._is_drawn = True
            line = self._draw(min(done, total), total, now - self._began)
            self._stream.write(_ERASE + line[: self._width() - 1])
            self._stream.flush()

    def over(self, items: Sequence[T]) -> Iterator[T]:
        """The items, one after the other."""
        for number, item in enumerate(items):
            self.tell(number, len(items))
            yield item

    def _draw(self, done: int, total: int, seconds: float) -> str:
        full = done * _LENGTH // total
        bar = "█" * full + "░" * (_LENGTH - full)
        amounts = f"{self._say(done)} of {self._say(total)}"
        line = f"{self._label} {bar} {100 * done // total:3d}%  {amounts}"
        if done:
            left = seconds * (total - done) / done
            line += (
                f", {left:.0f} s left" if left < 90 else f", {left / 60:.0f} min left"
            )
        return line

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _erase(self) -> None:
        if self._is_drawn:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._is_drawn = False
