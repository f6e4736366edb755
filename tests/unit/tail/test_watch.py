"""Test the watcher with the real inotify."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import pytest

from leslied.model.source import Root
from leslied.tail.watch import Watcher
from tests.support.clock import FakeClock
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    folder.mkdir()
    return folder


@pytest.fixture
def watcher(root: Path, tmp_path: Path, clock: FakeClock):
    state = tmp_path / "state"
    state.mkdir()
    watcher = Watcher([Root(path=root, patterns=())], state / "canary", clock)
    watcher.start()
    yield watcher
    watcher.stop()


def collect_until(watcher: Watcher, expected: set[Path]) -> set[Path]:
    """Return all reported paths until the expected ones are among them."""
    reported: set[Path] = set()
    while not expected <= reported:
        changes = watcher.wait(MAX_WAIT_SECONDS)
        assert changes.paths or changes.needs_scan, (
            f"no report of {expected - reported}"
        )
        reported |= changes.paths
    return reported


def collect_all(watcher: Watcher, marker: Path) -> set[Path]:
    """Return all reported paths so far.

    Events of a folder arrive in order, so the marker's event is the last one.
    """
    marker.touch()
    return collect_until(watcher, {marker})


def test_a_written_file_is_reported(watcher: Watcher, root: Path):
    log = root / "a.jsonl"

    log.write_text("one\n")

    assert log in collect_until(watcher, {log})


def test_a_new_folder_requests_a_scan(watcher: Watcher, root: Path):
    (root / "session" / "subagents").mkdir(parents=True)

    assert watcher.wait(MAX_WAIT_SECONDS).needs_scan


@pytest.mark.usefixtures("watcher")
def test_watchdogs_warning_about_duplicate_folders_is_ignored():
    warnings.warn("Callback with id '1' already exists", RuntimeWarning, stacklevel=1)


def test_a_file_renamed_into_place_is_reported(watcher: Watcher, root: Path):
    (root / "tmp").write_text("x")

    (root / "tmp").rename(root / "a.jsonl")

    assert root / "a.jsonl" in collect_until(watcher, {root / "a.jsonl"})


def test_reading_reports_no_change(watcher: Watcher, root: Path):
    log = root / "a.jsonl"
    log.write_text("one\n")
    paths_after_write = collect_all(watcher, root / "written")

    log.read_text()
    list(root.iterdir())

    assert log in paths_after_write
    assert log not in collect_all(watcher, root / "read")


def test_an_overflow_requests_a_scan(watcher: Watcher):
    logging.getLogger("watchdog.observers.inotify_c").warning("queue overflowed")

    assert watcher.wait(MAX_WAIT_SECONDS).needs_scan


def test_an_event_of_the_canary_is_not_reported(watcher: Watcher):
    watcher.refresh()
    wait_until(lambda: not watcher._queue.is_canary_pending)

    assert watcher.refresh()
    assert watcher.mode == "events"
    assert not watcher.wait(0).paths


@pytest.mark.fault("C5")
def test_an_observer_without_events_is_replaced(
    watcher: Watcher, root: Path, clock: FakeClock
):
    assert watcher._observer is not None
    watcher._observer.unschedule_all()
    watcher.refresh()
    # Longer than the watcher waits for the event of its canary file.
    clock.advance(11)

    assert not watcher.refresh()
    (root / "a.jsonl").write_text("one\n")

    assert collect_until(watcher, {root / "a.jsonl"})


def test_a_root_that_was_replaced_is_watched_again(watcher: Watcher, root: Path):
    root.rename(root.with_name("away"))
    root.mkdir()
    watcher.refresh()

    (root / "a.jsonl").write_text("one\n")

    assert root / "a.jsonl" in collect_until(watcher, {root / "a.jsonl"})


def test_the_observer_is_restarted_after_an_overflow(watcher: Watcher):
    before = watcher._observer
    logging.getLogger("watchdog.observers.inotify_c").warning("queue overflowed")

    watcher.refresh()

    assert watcher._observer is not before


@pytest.mark.fault("C2", "C3")
def test_without_file_events_the_watcher_polls_and_has_an_error(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    watcher.stop()
    monkeypatch.setattr("leslied.tail.watch.Observer", refuse)

    watcher.start()

    assert watcher.mode == "polling"
    assert "limit" in watcher.error
    assert not watcher.refresh()


@pytest.mark.fault("B16")
def test_a_root_created_later_is_watched_step_by_step(tmp_path: Path, clock: FakeClock):
    root = tmp_path / "agent" / "projects"
    (tmp_path / "state").mkdir()
    watcher = Watcher(
        [Root(path=root, patterns=())], tmp_path / "state" / "canary", clock
    )
    watcher.start()

    for folder in (root.parent, root):
        folder.mkdir()
        assert watcher.wait(MAX_WAIT_SECONDS).needs_scan
        watcher.refresh()
    (root / "a.jsonl").write_text("one\n")

    assert root / "a.jsonl" in collect_until(watcher, {root / "a.jsonl"})
    watcher.stop()


def test_changes_can_be_seen_without_waiting(watcher: Watcher, root: Path):
    had_changes = watcher.has_changes()
    (root / "a.jsonl").write_text("x")
    wait_until(watcher.has_changes)
    collect_until(watcher, {root / "a.jsonl"})
    watcher.wake()

    assert not had_changes
