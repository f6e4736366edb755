"""Hints from the real inotify."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import pytest

from leslied.model.source import Root
from leslied.tail.watch import Watcher
from tests.support.clock import FakeClock
from tests.support.waiting import PATIENCE_SECONDS, wait_until


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


def collect(watcher: Watcher, wanted: set[Path]) -> set[Path]:
    """Return the paths that were hinted at until all the wanted ones were."""
    named: set[Path] = set()
    while not wanted <= named:
        hint = watcher.wait(PATIENCE_SECONDS)
        assert hint.paths or hint.needs_scan, f"no hint of {wanted - named}"
        named |= hint.paths
    return named


def collect_all(watcher: Watcher, marker: Path) -> set[Path]:
    """Return the paths that were hinted at so far.

    Events of one folder arrive in order: once the marker is named, all others were.
    """
    marker.touch()
    return collect(watcher, {marker})


def test_an_append_names_its_file(watcher: Watcher, root: Path):
    log = root / "a.jsonl"

    log.write_text("one\n")

    assert log in collect(watcher, {log})


def test_a_new_folder_asks_for_a_scan(watcher: Watcher, root: Path):
    (root / "session" / "subagents").mkdir(parents=True)

    assert watcher.wait(PATIENCE_SECONDS).needs_scan


def test_watchdogs_word_of_a_folder_it_hears_of_twice_is_no_news(watcher: Watcher):
    del watcher

    warnings.warn("Callback with id '1' already exists", RuntimeWarning, stacklevel=1)


def test_a_file_renamed_into_place_is_named(watcher: Watcher, root: Path):
    (root / "tmp").write_text("x")

    (root / "tmp").rename(root / "a.jsonl")

    assert root / "a.jsonl" in collect(watcher, {root / "a.jsonl"})


def test_reading_causes_no_hint(watcher: Watcher, root: Path):
    log = root / "a.jsonl"
    log.write_text("one\n")
    written = collect_all(watcher, root / "written")

    log.read_text()
    list(root.iterdir())

    assert log in written
    assert log not in collect_all(watcher, root / "read")


def test_an_overflow_asks_for_a_scan(watcher: Watcher):
    logging.getLogger("watchdog.observers.inotify_c").warning("queue overflowed")

    assert watcher.wait(PATIENCE_SECONDS).needs_scan


def test_a_canary_that_is_heard_is_no_hint(watcher: Watcher):
    watcher.refresh()
    wait_until(lambda: not watcher._queue.is_canary_pending)

    assert watcher.refresh()
    assert watcher.mode == "events"
    assert not watcher.wait(0).paths


def test_a_deaf_observer_is_replaced(watcher: Watcher, root: Path, clock: FakeClock):
    """C5."""
    assert watcher._observer is not None
    watcher._observer.unschedule_all()
    watcher.refresh()
    clock.advance(11)

    assert not watcher.refresh()
    (root / "a.jsonl").write_text("one\n")

    assert collect(watcher, {root / "a.jsonl"})


def test_a_root_replaced_by_another_is_watched_anew(watcher: Watcher, root: Path):
    root.rename(root.with_name("away"))
    root.mkdir()
    watcher.refresh()

    (root / "a.jsonl").write_text("one\n")

    assert root / "a.jsonl" in collect(watcher, {root / "a.jsonl"})


def test_after_an_overflow_everything_is_watched_anew(watcher: Watcher):
    before = watcher._observer
    logging.getLogger("watchdog.observers.inotify_c").warning("queue overflowed")

    watcher.refresh()

    assert watcher._observer is not before


def test_without_file_events_the_watcher_polls_and_says_why(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
):
    """C2, C3."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    watcher.stop()
    monkeypatch.setattr("leslied.tail.watch.Observer", refuse)

    watcher.start()

    assert watcher.mode == "polling"
    assert "limit" in watcher.error
    assert not watcher.refresh()


def test_a_root_made_later_is_taken_up_step_by_step(tmp_path: Path, clock: FakeClock):
    """B16."""
    root = tmp_path / "agent" / "projects"
    (tmp_path / "state").mkdir()
    watcher = Watcher(
        [Root(path=root, patterns=())], tmp_path / "state" / "canary", clock
    )
    watcher.start()

    for folder in (root.parent, root):
        folder.mkdir()
        assert watcher.wait(PATIENCE_SECONDS).needs_scan
        watcher.refresh()
    (root / "a.jsonl").write_text("one\n")

    assert root / "a.jsonl" in collect(watcher, {root / "a.jsonl"})
    watcher.stop()
