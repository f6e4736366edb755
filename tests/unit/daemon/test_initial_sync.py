"""Test the first sync in a real child process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
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


def test_the_scan_runs_in_another_process(tmp_path: Path):
    def scan(_: Callable[[], None]) -> None:
        (tmp_path / "pid").write_text(str(os.getpid()))

    run_initial_sync(scan, RecordingNotifier(), Event())

    assert (tmp_path / "pid").read_text() != str(os.getpid())
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
