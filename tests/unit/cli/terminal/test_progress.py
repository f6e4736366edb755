"""Tests of the progress bar."""

from __future__ import annotations

import io

import pytest

from leslied.cli.terminal.progress import ProgressBar
from tests.support.clock import FakeClock


class FakeTerminal(io.StringIO):
    """Stream whose `isatty` returns True."""

    def isatty(self) -> bool:
        return True

    def current_line(self) -> str:
        """Return the text since the line was last erased."""
        return self.getvalue().rpartition("\x1b[K")[2]


@pytest.fixture(autouse=True)
def set_term(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def terminal() -> FakeTerminal:
    return FakeTerminal()


@pytest.fixture
def bar(clock: FakeClock, terminal: FakeTerminal) -> ProgressBar:
    bar = ProgressBar(clock, terminal)
    bar.start("Reading", in_bytes=True)
    return bar


def test_a_bar_shows_done_total_and_time_left(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    clock.advance(10)
    bar.update(25_000_000, 100_000_000)

    assert terminal.current_line() == (
        "Reading ██████░░░░░░░░░░░░░░░░░░  25%  25.0 MB of 100.0 MB, 30 s left"
    )


def test_a_short_task_has_no_bar(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    clock.advance(0.2)
    with bar:
        bar.update(1, 2)

    assert terminal.getvalue() == ""


def test_a_bar_is_drawn_at_most_ten_times_a_second(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    clock.advance(1)
    for number in range(1000):
        bar.update(number, 1000)
        clock.advance(0.001)

    assert terminal.getvalue().count("\r") <= 11


def test_the_bar_is_erased_at_the_end(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    with bar:
        clock.advance(1)
        bar.update(1, 2)

    assert terminal.current_line() == ""


def test_a_new_task_erases_the_bar(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    clock.advance(1)
    bar.update(1, 2)
    bar.start("Writing")

    assert terminal.current_line() == ""


def test_the_line_is_cut_to_the_terminal(clock: FakeClock, terminal: FakeTerminal):
    bar = ProgressBar(clock, terminal)
    bar.start("x" * 200)
    clock.advance(1)
    bar.update(1, 2)

    assert len(terminal.current_line()) == 79


def test_progress_over_the_total_is_shown_as_complete(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    clock.advance(1)
    bar.update(300, 200)

    assert "100%  200 B of 200 B" in terminal.current_line()


def test_a_task_of_unknown_length_has_no_bar(
    bar: ProgressBar, clock: FakeClock, terminal: FakeTerminal
):
    clock.advance(1)
    bar.update(300, 0)

    assert terminal.getvalue() == ""


def test_a_pipe_gets_no_bar(clock: FakeClock):
    pipe = io.StringIO()
    with ProgressBar(clock, pipe) as bar:
        clock.advance(1)
        assert list(bar.track("abc")) == ["a", "b", "c"]

    assert pipe.getvalue() == ""


def test_a_dumb_terminal_gets_no_bar(
    clock: FakeClock, terminal: FakeTerminal, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TERM", "dumb")
    bar = ProgressBar(clock, terminal)
    clock.advance(1)
    bar.update(1, 2)

    assert terminal.getvalue() == ""
