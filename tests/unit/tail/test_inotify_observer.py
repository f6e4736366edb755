"""Test which events arrive, and that unwatched folders are reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.events import (
    FileModifiedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)

from leslied.tail.inotify_observer import InotifyObserver
from tests.support.inotify import WatchLimit
from tests.support.waiting import wait_until


class Recorder(FileSystemEventHandler):
    """A handler that records the paths of events, and the folders without events."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.unwatched: dict[Path, Exception] = {}
        self.unhandled_changes: set[bytes] = set()

    def make_observer(self) -> InotifyObserver:
        return InotifyObserver(self.unwatched.__setitem__, self.unhandled_changes)

    def dispatch(self, event: FileSystemEvent) -> None:
        self.paths.append(Path(str(event.src_path)))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> WatchLimit:
    limit = WatchLimit(monkeypatch)
    limit.refused_names = {"late"}
    return limit


@pytest.fixture
def observer(recorder: Recorder) -> Iterator[InotifyObserver]:
    observer = recorder.make_observer()
    observer.start()
    yield observer
    observer.stop()
    observer.join()


@pytest.mark.fault("C2")
@pytest.mark.usefixtures("limit")
def test_a_folder_that_exists_and_cannot_be_watched_is_reported(
    observer: InotifyObserver, recorder: Recorder, tmp_path: Path
):
    for name in ("early", "late"):
        (tmp_path / name).mkdir()

    observer.schedule(recorder, tmp_path, recursive=True)

    (folder,) = recorder.unwatched
    assert folder == tmp_path / "late"
    assert "limit reached" in str(recorder.unwatched[folder])


@pytest.mark.fault("C2")
@pytest.mark.usefixtures("limit")
def test_a_new_folder_that_cannot_be_watched_is_reported(
    observer: InotifyObserver, recorder: Recorder, tmp_path: Path
):
    observer.schedule(recorder, tmp_path, recursive=True)

    (tmp_path / "late").mkdir()

    wait_until(lambda: list(recorder.unwatched) == [tmp_path / "late"])


@pytest.mark.fault("C2")
@pytest.mark.usefixtures("limit")
def test_scheduling_a_folder_that_cannot_be_watched_reports_it_and_raises(
    observer: InotifyObserver, recorder: Recorder, tmp_path: Path
):
    (tmp_path / "late").mkdir()

    with pytest.raises(OSError, match="limit reached"):
        observer.schedule(recorder, tmp_path / "late")

    assert list(recorder.unwatched) == [tmp_path / "late"]


def test_events_arrive(observer: InotifyObserver, recorder: Recorder, tmp_path: Path):
    observer.schedule(recorder, tmp_path, recursive=True)

    (tmp_path / "a.jsonl").write_text("one\n")

    wait_until(lambda: tmp_path / "a.jsonl" in recorder.paths)
    assert not recorder.unwatched


def test_a_stopped_observer_has_no_thread(tmp_path: Path, recorder: Recorder):
    observer = recorder.make_observer()
    observer.start()
    observer.schedule(recorder, tmp_path)
    emitters = list(observer.emitters)

    observer.stop()
    observer.join()

    assert not any(thread.is_alive() for thread in (*emitters, observer._inotify))


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("line\n")


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    logs = (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    for log in logs:
        log.touch()
    return logs


def test_a_file_that_changes_again_before_it_is_handled_causes_no_further_event(
    observer: InotifyObserver, recorder: Recorder, logs: tuple[Path, Path]
):
    first, second = logs
    observer.schedule(recorder, first.parent, event_filter=[FileModifiedEvent])

    for _ in range(50):
        append(first)
    append(second)

    wait_until(lambda: second in recorder.paths)
    assert recorder.paths == [first, second]


def test_a_change_after_the_last_one_was_handled_causes_an_event(
    observer: InotifyObserver, recorder: Recorder, logs: tuple[Path, Path]
):
    first, _ = logs
    observer.schedule(recorder, first.parent, event_filter=[FileModifiedEvent])
    append(first)
    wait_until(lambda: recorder.paths == [first])

    recorder.unhandled_changes.clear()
    append(first)

    wait_until(lambda: recorder.paths == [first, first])


def test_a_change_in_a_folder_that_was_moved_causes_an_event_with_its_new_path(
    observer: InotifyObserver, recorder: Recorder, tmp_path: Path
):
    folder, new_folder = tmp_path / "old", tmp_path / "new"
    folder.mkdir()
    (folder / "a.jsonl").touch()
    observer.schedule(recorder, tmp_path, recursive=True)
    append(folder / "a.jsonl")
    wait_until(lambda: folder / "a.jsonl" in recorder.paths)

    folder.rename(new_folder)
    append(new_folder / "a.jsonl")

    wait_until(lambda: new_folder / "a.jsonl" in recorder.paths)
