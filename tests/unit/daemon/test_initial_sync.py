"""Test the first sync in a real child process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest

from leslied.daemon import Notifier, run_initial_sync
from tests.support.waiting import MAX_WAIT_SECONDS


class RecordingNotifier(Notifier):
    """Notifier that records its messages instead of sending them."""

    def __init__(self) -> None:
        super().__init__({})
        self.messages: list[str] = []

    def _send(self, message: str) -> None:
        self.messages.append(message)


def test_the_scan_runs_in_another_process_which_then_ends(tmp_path: Path):
    def scan(_: Callable[[], None]) -> None:
        (tmp_path / "pid").write_text(str(os.getpid()))

    run_initial_sync(scan, RecordingNotifier(), Event())

    assert (tmp_path / "pid").read_text() != str(os.getpid())
    assert not multiprocessing.active_children()


@pytest.fixture
def kill_children() -> Iterator[None]:
    """Kill what a failed test leaves, which pytest would wait for at its end."""
    yield
    for child in multiprocessing.active_children():
        child.kill()


@pytest.mark.usefixtures("kill_children")
def test_a_child_that_does_not_end_in_time_is_killed(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("leslied.daemon.initial_sync._TERMINATE_TIMEOUT_SECONDS", 0.01)

    def scan(on_progress: Callable[[], None]) -> None:
        # The signal may come before this call returns, which then ends the child.
        with suppress(SystemExit):
            on_progress()
        Event().wait()

    stopping = Event()

    class StoppingNotifier(RecordingNotifier):
        def ping(self) -> None:
            stopping.set()

    run_initial_sync(scan, StoppingNotifier(), stopping)

    assert not multiprocessing.active_children()


def test_only_progress_pings_the_service_manager():
    notifier = RecordingNotifier()

    def scan(on_progress: Callable[[], None]) -> None:
        on_progress()
        on_progress()

    run_initial_sync(scan, notifier, Event())

    assert notifier.messages == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]


def test_a_scan_that_fails_does_not_stop_the_daemon():
    def scan(_: Callable[[], None]) -> None:
        raise RuntimeError("broken")

    run_initial_sync(scan, RecordingNotifier(), Event())


@pytest.mark.fault("F7")
def test_a_stop_ends_the_scan_after_the_current_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "leslied.daemon.initial_sync._TERMINATE_TIMEOUT_SECONDS", MAX_WAIT_SECONDS
    )

    def scan(on_progress: Callable[[], None]) -> None:
        try:
            while True:
                on_progress()
        finally:
            (tmp_path / "closed").touch()

    stopping = Event()

    class StoppingNotifier(RecordingNotifier):
        def ping(self) -> None:
            stopping.set()

    run_initial_sync(scan, StoppingNotifier(), stopping)

    assert not multiprocessing.active_children()
    assert (tmp_path / "closed").exists()
