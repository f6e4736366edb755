"""Tests of the player: pauses, pacing and keys."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.cli.terminal.keyboard import Key, parse_keys
from leslied.cli.terminal.player import NoKeyInput, Player, ReplayEvent
from tests.support.clock import FakeClock

START = 1000.0


class FakeKeyboard:
    """Keyboard whose keys are pressed at the times in `presses`."""

    def __init__(self, clock: FakeClock, *presses: tuple[float, Key]) -> None:
        self.clock = clock
        self.presses = list(presses)

    def wait(self, seconds: float | None) -> Key:
        now = self.clock.seconds - START
        if self.presses and (seconds is None or self.presses[0][0] <= now + seconds):
            pressed_at, key = self.presses.pop(0)
            self.clock.advance(max(pressed_at - now, 0.0))
            return key
        assert seconds is not None, "the player would wait forever"
        self.clock.advance(seconds)
        return ""


class PlayerHarness:
    """Player of events that records each written text with its time."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.written: list[tuple[float, str]] = []

    def play(self, *events: ReplayEvent, presses: tuple = (), **fields: Any) -> None:
        keys = FakeKeyboard(self.clock, *presses) if presses else NoKeyInput(self.clock)
        defaults = {"speed": 10.0, "max_pause": 2.0, "is_terminal": True}
        player = Player(
            keys=keys, clock=self.clock, write=self._write, **{**defaults, **fields}
        )
        player.play(events)

    def _write(self, text: str) -> None:
        self.written.append((round(self.clock.seconds - START, 3), text))

    @property
    def texts(self) -> list[tuple[float, str]]:
        return [(time, text) for time, text in self.written if text != "\x1b[0m"]

    @property
    def screen(self) -> str:
        return "".join(text for _, text in self.written)


@pytest.fixture
def harness(clock: FakeClock) -> PlayerHarness:
    return PlayerHarness(clock)


def test_pauses_are_divided_by_the_speed(harness: PlayerHarness):
    harness.play(ReplayEvent(0, "a\n"), ReplayEvent(5, "b\n"), ReplayEvent(1, "c\n"))

    assert harness.texts == [(0, "a\n"), (0.5, "b\n"), (0.6, "c\n")]


def test_no_pause_is_longer_than_the_limit(harness: PlayerHarness):
    harness.play(ReplayEvent(3600, "a\n"), max_pause=2.0)

    assert harness.texts == [(2.0, "a\n")]


def test_speed_zero_plays_without_pauses(harness: PlayerHarness):
    harness.play(ReplayEvent(3600, "one two\n", "spoken"), speed=0.0)

    assert harness.texts == [(0, "one two\n")]


def test_typed_text_appears_character_by_character(harness: PlayerHarness):
    harness.play(ReplayEvent(0, "\x1b[36m> \x1b[0mh👩‍🚀\n", "typed"))

    assert [text for _, text in harness.texts] == [
        "\x1b[36m", ">", " ", "h", "👩‍🚀", "\n"
    ]  # fmt: skip


def test_spoken_text_appears_word_by_word(harness: PlayerHarness):
    harness.play(ReplayEvent(0, "it works now\n", "spoken"))

    assert harness.texts == [(0, "it "), (0.03, "works "), (0.06, "now\n")]


def test_a_long_text_takes_no_longer_than_the_limit(harness: PlayerHarness):
    harness.play(ReplayEvent(0, "word " * 5000, "spoken"), max_pause=2.0)

    assert harness.texts[-1][0] < 2.01


def test_without_a_terminal_text_appears_at_once(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "it works\n", "spoken"), is_terminal=False)

    assert harness.texts == [(1.0, "it works\n")]


def test_the_pause_key_stops_playback_until_it_is_pressed_again(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (60, "pause")))

    assert harness.texts[-1] == (60.6, "a\n")


def test_a_paused_player_shows_a_hint_and_erases_it(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (60, "pause")))

    hint = "paused: press space to continue"
    assert f"{hint}\r{' ' * len(hint)}\ra\n" in harness.screen


def test_the_next_key_skips_a_pause(harness: PlayerHarness):
    harness.play(
        ReplayEvent(10, "a\n"), ReplayEvent(10, "b\n"), presses=((0.1, "next"),)
    )

    assert harness.texts == [(0.1, "a\n"), (1.1, "b\n")]


def test_the_next_key_shows_the_rest_of_a_text_and_the_next_entry_at_once(
    harness: PlayerHarness,
):
    harness.play(
        ReplayEvent(0, "a b c d\n", "spoken"),
        ReplayEvent(10, "e\n"),
        presses=((0.03, "next"),),
    )

    assert harness.texts[1:] == [
        (0.03, "b "),
        (0.03, "c "),
        (0.03, "d\n"),
        (0.03, "e\n"),
    ]


def test_the_next_key_continues_a_paused_player(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (5, "next")))

    assert harness.texts[-1] == (5.0, "a\n")


def test_the_faster_key_shortens_the_rest_of_a_pause(harness: PlayerHarness):
    harness.play(
        ReplayEvent(10, "a\n"), ReplayEvent(10, "b\n"), presses=((0.5, "faster"),)
    )

    assert [time for time, text in harness.texts if text in "a\nb\n"] == [0.75, 1.25]


def test_the_slower_key_lengthens_the_rest_of_a_pause(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "a\n"), presses=((0.5, "slower"),))

    assert harness.texts[-1] == (1.5, "a\n")


def test_a_new_speed_is_shown_and_erased(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "a\n"), presses=((0.5, "faster"),))

    assert "speed 20\r        \ra\n" in harness.screen


def test_quitting_ends_the_current_line(harness: PlayerHarness):
    harness.play(
        ReplayEvent(0, "one two three\n", "spoken"),
        ReplayEvent(0, "four\n"),
        presses=((0.03, "quit"),),
    )

    assert harness.screen == "one \x1b[0m\n"


def test_a_paused_player_can_be_quit(harness: PlayerHarness):
    harness.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (5, "quit")))

    assert "a\n" not in harness.screen


def test_keys_are_parsed_from_terminal_input():
    assert parse_keys(b" \r\x1b[C\x1bOC+=-q") == [
        "pause", "next", "next", "next", "faster", "faster", "slower", "quit"
    ]  # fmt: skip


def test_other_keys_are_ignored():
    assert parse_keys(b"x\x1b[A\x1b[15~\x1b[1;5D\xc3\xa9") == []
