"""The clock of the system, and the one of the tests."""

from __future__ import annotations

from datetime import UTC, timedelta
from threading import Event

import pytest

from leslied.clock import Clock, SystemClock
from tests.support.clock import FakeClock


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_the_time_is_in_utc(clock: Clock):
    assert clock.now().tzinfo is UTC


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_sleeping_lets_time_pass(clock: Clock):
    before = clock.monotonic()

    clock.sleep(0.001)

    assert clock.monotonic() >= before + 0.001


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_a_wait_without_an_event_ends_after_its_time(clock: Clock):
    before = clock.monotonic()

    is_set = clock.wait(Event(), 0.001)

    assert not is_set
    assert clock.monotonic() >= before + 0.0009


@pytest.mark.parametrize("clock", [SystemClock(), FakeClock()])
def test_a_wait_for_an_event_that_is_set_ends_at_once(clock: Clock):
    event = Event()
    event.set()
    before = clock.now()

    is_set = clock.wait(event, 3600)

    assert is_set
    assert clock.now() - before < timedelta(hours=1)
