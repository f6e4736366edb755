"""Text that appears bit by bit, and whoever presses keys meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.cli.keyboard import Key, parse_keys
from leslied.cli.player import NoKeyInput, Player, ReplayEvent
from tests.support.clock import FakeClock

START = 1000.0


class FakeKeyboard:
    """Press keys at given times."""

    def __init__(self, clock: FakeClock, *presses: tuple[float, Key]) -> None:
        self.clock = clock
        self.presses = list(presses)

    def wait(self, seconds: float | None) -> Key:
        now = self.clock.seconds - START
        if self.presses and (seconds is None or self.presses[0][0] <= now + seconds):
            pressed_at, key = self.presses.pop(0)
            self.clock.advance(max(pressed_at - now, 0.0))
            return key
        assert seconds is not None, "it would wait for ever"
        self.clock.advance(seconds)
        return ""


class PlayerHarness:
    """Remembers what was written, and when."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.written: list[tuple[float, str]] = []

    def play(self, *cues: ReplayEvent, presses: tuple = (), **fields: Any) -> None:
        hands = (
            FakeKeyboard(self.clock, *presses) if presses else NoKeyInput(self.clock)
        )
        known = {"speed": 10.0, "max_pause": 2.0, "is_terminal": True}
        player = Player(
            keys=hands, clock=self.clock, write=self._write, **{**known, **fields}
        )
        player.play(cues)

    def _write(self, text: str) -> None:
        self.written.append((round(self.clock.seconds - START, 3), text))

    @property
    def texts(self) -> list[tuple[float, str]]:
        return [(at, text) for at, text in self.written if text != "\x1b[0m"]

    @property
    def screen(self) -> str:
        return "".join(text for _, text in self.written)


@pytest.fixture
def stage(clock: FakeClock) -> PlayerHarness:
    return PlayerHarness(clock)


def test_a_pause_is_as_short_as_the_speed_makes_it(stage: PlayerHarness):
    stage.play(ReplayEvent(0, "a\n"), ReplayEvent(5, "b\n"), ReplayEvent(1, "c\n"))

    assert stage.texts == [(0, "a\n"), (0.5, "b\n"), (0.6, "c\n")]


def test_no_pause_is_longer_than_the_longest(stage: PlayerHarness):
    stage.play(ReplayEvent(3600, "a\n"), max_pause=2.0)

    assert stage.texts == [(2.0, "a\n")]


def test_speed_zero_knows_no_pause(stage: PlayerHarness):
    stage.play(ReplayEvent(3600, "one two\n", "spoken"), speed=0.0)

    assert stage.texts == [(0, "one two\n")]


def test_a_prompt_is_typed_letter_by_letter(stage: PlayerHarness):
    stage.play(ReplayEvent(0, "\x1b[36m> \x1b[0mh👩‍🚀\n", "typed"))

    assert [text for _, text in stage.texts] == [
        "\x1b[36m", ">", " ", "h", "👩‍🚀", "\n"
    ]  # fmt: skip


def test_an_answer_is_spoken_word_by_word(stage: PlayerHarness):
    stage.play(ReplayEvent(0, "it works now\n", "spoken"))

    assert stage.texts == [(0, "it "), (0.03, "works "), (0.06, "now\n")]


def test_a_long_text_takes_no_longer_than_the_longest_pause(stage: PlayerHarness):
    stage.play(ReplayEvent(0, "word " * 5000, "spoken"), max_pause=2.0)

    assert stage.texts[-1][0] < 2.01


def test_where_there_is_no_terminal_a_text_comes_whole(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "it works\n", "spoken"), is_terminal=False)

    assert stage.texts == [(1.0, "it works\n")]


def test_space_holds_it_until_the_next_space(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (60, "pause")))

    assert stage.texts[-1] == (60.6, "a\n")


def test_a_held_session_says_how_to_go_on_and_takes_it_back(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (60, "pause")))

    hint = "paused: space goes on"
    assert f"{hint}\r{' ' * len(hint)}\ra\n" in stage.screen


def test_next_ends_a_pause(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), ReplayEvent(10, "b\n"), presses=((0.1, "next"),))

    assert stage.texts == [(0.1, "a\n"), (1.1, "b\n")]


def test_next_in_a_text_shows_its_rest_and_the_next_entry_now(stage: PlayerHarness):
    stage.play(
        ReplayEvent(0, "a b c d\n", "spoken"),
        ReplayEvent(10, "e\n"),
        presses=((0.03, "next"),),
    )

    assert stage.texts[1:] == [(0.03, "b "), (0.03, "c "), (0.03, "d\n"), (0.03, "e\n")]


def test_next_goes_on_from_a_held_session(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (5, "next")))

    assert stage.texts[-1] == (5.0, "a\n")


def test_faster_shortens_what_is_left_of_a_pause(stage: PlayerHarness):
    stage.play(
        ReplayEvent(10, "a\n"), ReplayEvent(10, "b\n"), presses=((0.5, "faster"),)
    )

    assert [at for at, text in stage.texts if text in "a\nb\n"] == [0.75, 1.25]


def test_slower_makes_a_pause_longer(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), presses=((0.5, "slower"),))

    assert stage.texts[-1] == (1.5, "a\n")


def test_a_change_of_speed_is_told_and_taken_back(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), presses=((0.5, "faster"),))

    assert "speed 20\r        \ra\n" in stage.screen


def test_quit_ends_it_and_closes_the_line(stage: PlayerHarness):
    stage.play(
        ReplayEvent(0, "one two three\n", "spoken"),
        ReplayEvent(0, "four\n"),
        presses=((0.03, "quit"),),
    )

    assert stage.screen == "one \x1b[0m\n"


def test_a_held_session_can_be_quit(stage: PlayerHarness):
    stage.play(ReplayEvent(10, "a\n"), presses=((0.4, "pause"), (5, "quit")))

    assert "a\n" not in stage.screen


def test_keys_are_read_from_the_bytes_of_a_terminal():
    assert parse_keys(b" \r\x1b[C\x1bOC+=-q") == [
        "pause", "next", "next", "next", "faster", "faster", "slower", "quit"
    ]  # fmt: skip


def test_other_keys_mean_nothing():
    assert parse_keys(b"x\x1b[A\x1b[15~\x1b[1;5D\xc3\xa9") == []
