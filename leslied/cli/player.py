"""Text that appears on a terminal bit by bit, with pauses, as it once did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leslied.cli.keyboard import Key
    from leslied.clock import Clock

Pacing = Literal["at once", "typed", "spoken"]
"""How a text appears: whole, letter by letter, or word by word."""
_SECONDS_PER_PIECE: dict[Pacing, float] = {"at once": 0.0, "typed": 0.12, "spoken": 0.3}
"""What a letter and a word take at the speed at which it happened."""
_WORD = re.compile(r"\S+\s*|\s+")
_STYLE = r"\x1b\[[0-9;]*m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
_MIN_SPEED, _MAX_SPEED = 1 / 8, 1024.0


@dataclass(frozen=True, slots=True)
class ReplayEvent:
    """A text, how it appears, and the seconds of the session before it."""

    pause: float
    text: str
    pacing: Pacing = "at once"


class KeyInput(Protocol):
    """Whoever may press a key."""

    def wait(self, seconds: float | None) -> Key:
        """The key that was pressed within the time; empty where none was."""


@dataclass(frozen=True, slots=True)
class NoKeyInput:
    """Nobody presses a key: time passes."""

    clock: Clock

    def wait(self, seconds: float | None) -> Key:
        """Nothing, when the time is over."""
        self.clock.sleep(seconds or 0.0)
        return ""


class _Quit(Exception):  # noqa: N818 - a wish, not an accident
    """Somebody has seen enough."""


@dataclass(slots=True)
class Player:
    """Plays texts; `speed` 10 is ten times as fast as it was, 0 knows no pause."""

    keys: KeyInput
    clock: Clock
    write: Callable[[str], None]
    speed: float
    max_pause: float
    """No pause is longer than so many seconds, nor does a text take longer."""
    is_terminal: bool
    """Whether text appears bit by bit."""
    _is_skipping: bool = False
    _is_mid_line: bool = False
    _hint: str = ""

    def play(self, events: Iterable[ReplayEvent]) -> None:
        """All of it was shown, or as much as anybody wanted to see."""
        try:
            for event in events:
                self._wait(event.pause, self.max_pause)
                self._is_skipping = False
                self._show(event)
        except _Quit:
            pass
        finally:
            self._write("\x1b[0m\n" if self._is_mid_line else "\x1b[0m")

    def _show(self, event: ReplayEvent) -> None:
        pieces = _split_text(event) if self.is_terminal and self.speed else [event.text]
        for number, piece in enumerate(pieces):
            if number:
                self._wait(
                    _SECONDS_PER_PIECE[event.pacing], self.max_pause / len(pieces)
                )
            self._write(piece)

    def _write(self, text: str) -> None:
        self._clear_hint()
        self.write(text)
        self._is_mid_line = not text.endswith("\n")

    def _wait(self, seconds: float, limit: float) -> None:
        """The pause is over, or somebody is in a hurry."""
        share = 1.0
        while not self._is_skipping and share > 0:
            whole = min(seconds / self.speed, limit) if self.speed else 0.0
            if not whole:
                return
            began = self.clock.monotonic()
            key = self.keys.wait(whole * share)
            if not key:
                return
            share -= (self.clock.monotonic() - began) / whole
            self._handle_key(key)

    def _handle_key(self, key: Key) -> None:
        match key:
            case "pause":
                self._wait_for_resume()
            case "next":
                self._is_skipping = True
            case "faster":
                self._change_speed(2.0)
            case "slower":
                self._change_speed(0.5)
            case "quit":
                raise _Quit

    def _wait_for_resume(self) -> None:
        self._show_hint("paused: space goes on")
        while (key := self.keys.wait(None)) != "pause":
            self._handle_key(key)
            if key == "next":
                break
        self._clear_hint()

    def _change_speed(self, factor: float) -> None:
        self.speed = min(max(self.speed * factor, _MIN_SPEED), _MAX_SPEED)
        self._show_hint(f"speed {self.speed:g}")

    def _show_hint(self, text: str) -> None:
        """A word that is gone with the next; none in the middle of a line."""
        if not self._is_mid_line:
            self._clear_hint()
            self._hint = text
            self.write(text)

    def _clear_hint(self) -> None:
        if self._hint:
            self.write(f"\r{' ' * len(self._hint)}\r")
            self._hint = ""


def _split_text(event: ReplayEvent) -> Sequence[str]:
    if event.pacing == "at once":
        return [event.text]
    if event.pacing == "spoken":
        return _WORD.findall(event.text)
    import regex  # noqa: PLC0415 - only who types needs to know what a letter is

    found: list[str] = regex.findall(rf"{_STYLE}|\X", event.text)
    return found
