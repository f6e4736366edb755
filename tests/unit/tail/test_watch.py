"""Test the watcher with the real inotify."""

from __future__ import annotations

import errno
import logging
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.events import DirModifiedEvent, FileModifiedEvent
from watchdog.observers.inotify_c import InotifyFD

from leslied.model.source import Root
from leslied.tail.watch import Watcher, WatchProblem
from tests.support.clock import FakeClock
from tests.support.inotify import WatchLimit, make_silent_observer
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    folder.mkdir()
    return folder


@pytest.fixture
def watcher(root: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Watcher]:
    state = tmp_path / "state"
    state.mkdir()
    watcher = Watcher([Root(path=root, patterns=())], state / "canary", clock)
    watcher.start()
    yield watcher
    watcher.stop()


def get_problem(watcher: Watcher) -> WatchProblem:
    """Return the problem of a watcher that has one."""
    problem = watcher.find_problem()
    assert problem is not None
    return problem


def wait_for_events_mode(watcher: Watcher) -> None:
    """Wait until the event of the canary file has arrived."""
    wait_until(lambda: watcher.mode == "events")


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> WatchLimit:
    return WatchLimit(monkeypatch)


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


def test_a_file_that_changes_again_is_reported_again(watcher: Watcher, root: Path):
    log = root / "a.jsonl"
    log.touch()
    collect_until(watcher, {log})

    for text in ("one", "two"):
        log.write_text(text)

        assert collect_until(watcher, {log}) == {log}


def test_the_canary_proves_that_events_arrive_though_nobody_takes_them(
    watcher: Watcher,
):
    for _ in range(3):
        wait_until(lambda: not watcher._queue.is_canary_pending)
        watcher.refresh()

    wait_until(lambda: not watcher._queue.is_canary_pending)
    assert watcher.mode == "events"


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


@pytest.mark.fault("C3")
def test_without_an_inotify_instance_the_watcher_polls_and_has_a_problem(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "inotify limit reached")

    watcher.stop()
    monkeypatch.setattr(InotifyFD, "_create_inotify_fd", refuse)

    watcher.start()

    assert watcher.mode == "polling"
    assert get_problem(watcher).reason == "no file events: inotify limit reached"
    assert "max_user_instances" in get_problem(watcher).hint
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


@pytest.mark.fault("C2")
def test_a_new_folder_beyond_the_watch_limit_makes_the_watcher_poll(
    watcher: Watcher, root: Path, limit: WatchLimit
):
    wait_for_events_mode(watcher)
    limit.refused_names = {"late"}
    (root / "late").mkdir()
    wait_until(lambda: watcher.mode == "polling")

    problem = get_problem(watcher)
    assert problem.reason.startswith(
        f"no file events in {root / 'late'}: inotify watch"
    )
    assert problem.hint.endswith("sysctl fs.inotify.max_user_watches=1048576")


@pytest.mark.fault("C2")
def test_the_watcher_polls_until_every_folder_is_watched(
    watcher: Watcher, root: Path, limit: WatchLimit
):
    limit.refused_names = {"b", "c"}
    for name in "abc":
        (root / name).mkdir()
    watcher.start()  # Again, now that the limit is reached.
    modes = []
    for refused_names in ({"b", "c"}, {"b"}, set[str]()):
        limit.refused_names = refused_names
        watcher.refresh()
        wait_until(lambda: watcher._queue.has_received_canary)
        modes.append(watcher.mode)

    assert modes == ["polling", "polling", "events"]
    assert watcher.find_problem() is None


@pytest.mark.fault("C2")
def test_the_other_folders_are_watched_beyond_the_limit(
    watcher: Watcher, root: Path, limit: WatchLimit
):
    limit.refused_names = {"late"}
    for name in ("early", "late"):
        (root / name).mkdir()
    watcher.start()
    log = root / "early" / "a.jsonl"

    log.write_text("one\n")

    assert log in collect_until(watcher, {log})
    assert get_problem(watcher).reason.startswith(f"no file events in {root}/late")


@pytest.mark.fault("C2")
def test_a_root_beyond_the_limit_leaves_the_other_roots_watched(
    watcher: Watcher, root: Path, tmp_path: Path, limit: WatchLimit
):
    limit.refused_names = {"other"}
    (tmp_path / "other").mkdir()
    watcher.set_roots(
        [Root(path=tmp_path / name, patterns=()) for name in ("other", "projects")]
    )
    watcher.refresh()
    log = root / "a.jsonl"

    log.write_text("one\n")

    assert log in collect_until(watcher, {log})
    assert watcher.mode == "polling"


@pytest.mark.fault("C2")
def test_the_observer_stays_the_same_while_the_limit_is_reached(
    watcher: Watcher, root: Path, limit: WatchLimit
):
    limit.refused_names = {"late"}
    (root / "late").mkdir()
    watcher.start()
    observer = watcher._observer
    wait_until(lambda: watcher._queue.has_received_canary)

    assert watcher.refresh()
    assert watcher._observer is observer


def test_a_folder_that_was_deleted_does_not_make_the_watcher_poll(
    watcher: Watcher, root: Path, limit: WatchLimit
):
    limit.refused_names = {"late"}
    (root / "late").mkdir()
    watcher.start()
    (root / "late").rmdir()

    wait_for_events_mode(watcher)
    assert watcher.find_problem() is None


@pytest.mark.fault("C4")
def test_appends_in_400_new_nested_folders_are_reported(watcher: Watcher, root: Path):
    logs = [
        root / f"p{number}" / "a" / "subagents" / "x.jsonl" for number in range(400)
    ]
    for log in logs:
        log.parent.mkdir(parents=True)
        log.write_text("one\n")
    collect_until(watcher, set(logs))

    for log in logs:
        with log.open("a") as file:
            file.write("two\n")

    assert collect_until(watcher, set(logs)) >= set(logs)


@pytest.mark.fault("C5")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_after_the_death_of_the_reader_the_watcher_polls_until_events_are_proven(
    watcher: Watcher,
    root: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
):
    wait_for_events_mode(watcher)
    with monkeypatch.context() as patch:
        patch.setattr(InotifyFD, "handle_event", lambda *_: 1 / 0)
        # The event of the canary file is what kills the thread.
        watcher.refresh()
        wait_until(lambda: not is_reader_alive())
    # An earlier event of the canary file may still arrive and hide the first absence.
    wait_until(lambda: is_unresponsive_after_timeout(watcher, clock))
    wait_for_events_mode(watcher)
    log = root / "a.jsonl"
    log.write_text("one\n")

    assert log in collect_until(watcher, {log})


def is_unresponsive_after_timeout(watcher: Watcher, clock: FakeClock) -> bool:
    """Let the time pass in which an event must arrive, and ask the watcher."""
    clock.advance(11)
    return not watcher.refresh()


def is_reader_alive() -> bool:
    """Return whether the thread that reads the kernel's events runs."""
    return any(
        isinstance(thread, InotifyFD) and thread.is_alive()
        for thread in threading.enumerate()
    )


@pytest.mark.fault("C6")
def test_an_observer_without_events_never_ends_polling(
    watcher: Watcher, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leslied.tail.watch._make_observer", make_silent_observer)
    watcher.start()
    modes = set()
    for _ in range(5):
        watcher.refresh()
        clock.advance(11)
        modes.add(watcher.mode)

    assert modes == {"polling"}
    assert get_problem(watcher).reason == "file events stopped arriving"


@pytest.mark.fault("C7")
def test_an_event_of_a_whole_folder_requests_a_scan(watcher: Watcher, root: Path):
    """macOS may report only a folder if it has merged or lost events."""
    watcher._queue.dispatch(DirModifiedEvent(str(root)))

    assert watcher.wait(0).needs_scan


@pytest.mark.fault("C8")
def test_many_events_of_one_file_are_one_change(watcher: Watcher, root: Path):
    log = root / "a.jsonl"
    with log.open("w", buffering=1) as file:
        for number in range(10_000):
            file.write(f"{number}\n")
    marker = root / "marker"
    marker.touch()
    wait_until(lambda: marker in watcher._queue.dirty_paths)

    assert watcher.wait(0).paths == {log, marker}


@pytest.mark.fault("C8")
def test_changes_of_very_many_files_are_one_request_for_a_scan(
    watcher: Watcher, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leslied.tail.watch._MAX_DIRTY_PATHS", 3)
    for number in range(10):
        watcher._queue.dispatch(FileModifiedEvent(str(root / f"{number}.jsonl")))

    changes = watcher.wait(0)

    assert (len(changes.paths), changes.needs_scan) == (3, True)


def test_a_canary_that_cannot_be_written_proves_nothing(
    watcher: Watcher, tmp_path: Path
):
    wait_for_events_mode(watcher)
    (tmp_path / "state" / "canary").unlink()
    (tmp_path / "state" / "canary").mkdir()

    watcher.refresh()

    assert watcher.mode == "polling"
    assert "canary cannot be written: Is a directory" in get_problem(watcher).reason
