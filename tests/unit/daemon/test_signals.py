"""Signals of the daemon: a stop is requested, and then enforced."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from leslied.daemon import handle_signals, signals
from tests.support.waiting import MAX_WAIT_SECONDS


def stop_and_work() -> None:
    """Send the signal to stop, and go on for a long time."""
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(MAX_WAIT_SECONDS)


@pytest.mark.fault("F8")
def test_work_that_goes_on_after_a_stop_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(signals, "STOP_SECONDS", 0.01)
    with handle_signals() as state:
        with pytest.raises(SystemExit) as interruption:
            stop_and_work()

        assert state.stopping.is_set()
    assert interruption.value.code == 0


def test_work_that_ends_in_time_is_not_interrupted():
    with handle_signals():
        os.kill(os.getpid(), signal.SIGTERM)

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_request_to_scan_stops_nothing():
    with handle_signals() as state:
        os.kill(os.getpid(), signal.SIGHUP)

        assert not state.stopping.is_set()
