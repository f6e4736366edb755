"""Playback of text on a terminal, piece by piece and with pauses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leslied.cli.terminal.keyboard import Key
    from leslied.clock import Clock

Pacing = Literal["at once", "typed", "spoken"]
"""How a text appears: whole, character by character, or word by word."""
_SECONDS_PER_PIECE: dict[Pacing, float] = {"at once": 0.0, "typed": 0.12, "spoken": 0.3}
"""Seconds for one character or word at speed 1."""
_WORD = re.compile(r"\S+\s*|\s+")
_ESCAPE_SEQUENCE = r"\x1b\[[0-9;]*m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
_MIN_SPEED, _MAX_SPEED = 1 / 8, 1024.0


@dataclass(frozen=True, slots=True)
class ReplayEvent:
    """A text, its pacing, and the seconds that the session paused before it."""

    pause: float
    text: str
    pacing: Pacing = "at once"


class KeyInput(Protocol):
    """Source of key presses."""

    def wait(self, seconds: float | None) -> Key:
        """Return the next key, or "" if none is pressed in time; None waits forever."""


@dataclass(frozen=True, slots=True)
class NoKeyInput:
    """Key input without a keyboard: it only lets time pass."""

    clock: Clock

    def wait(self, seconds: float | None) -> Key:
        """Sleep for this time and return ""."""
        self.clock.sleep(seconds or 0.0)
        return ""


class _Quit(Exception):  # noqa: N818 - a request, not an error
    """Raised when the user quits the playback."""


@dataclass(slots=True)
class Player:
    """Player of replay events; speed 10 is ten times as fast, 0 has no pauses."""

    keys: KeyInput
    clock: Clock
    write: Callable[[str], None]
    speed: float
    max_pause: float
    """Longest pause in seconds, and longest time a text may take to appear."""
    is_terminal: bool
    """Whether text appears piece by piece."""
    _is_skipping: bool = False
    """Whether pauses are skipped, until the next event appears."""
    _is_mid_line: bool = False
    _hint: str = ""

    def play(self, events: Iterable[ReplayEvent]) -> None:
        """Play the events until they end or the user quits."""
        try:
            for event in events:
                self._wait(event.pause, self.max_pause)
                self._is_skipping = False
                self._show(event)
        except _Quit:
            pass
        finally:
            # Reset colours: the user may have quit in the middle of a coloured text.
            self._write("\x1b[0m\n" if self._is_mid_line else "\x1b[0m")

    def _show(self, event: ReplayEvent) -> None:
        pieces = _split_text(event) if self.is_terminal and self.speed else [event.text]
        for number, piece in enumerate(pieces):
            # All pauses within the event together last at most `max_pause`.
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
        """Wait, handling keys, until the pause is over or skipped.

        `seconds` are divided by the speed; `limit` is not.
        """
        # Store the remaining time as a fraction, because a key may change the speed.
        fraction_left = 1.0
        while not self._is_skipping and fraction_left > 0:
            duration = min(seconds / self.speed, limit) if self.speed else 0.0
            if not duration:
                return
            started_at = self.clock.monotonic()
            key = self.keys.wait(duration * fraction_left)
            if not key:
                return
            fraction_left -= (self.clock.monotonic() - started_at) / duration
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
        self._show_hint("paused: press space to continue")
        while (key := self.keys.wait(None)) != "pause":
            self._handle_key(key)
            if key == "next":
                break
        self._clear_hint()

    def _change_speed(self, factor: float) -> None:
        self.speed = min(max(self.speed * factor, _MIN_SPEED), _MAX_SPEED)
        self._show_hint(f"speed {self.speed:g}")

    def _show_hint(self, text: str) -> None:
        """Show a transient hint, unless the cursor is in the middle of a line."""
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
    import regex  # noqa: PLC0415 - only typed text needs grapheme clusters

    graphemes: list[str] = regex.findall(rf"{_ESCAPE_SEQUENCE}|\X", event.text)
    return graphemes
