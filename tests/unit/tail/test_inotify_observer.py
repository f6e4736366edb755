"""Test that folders which cannot be watched are reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.events import FileSystemEvent, FileSystemEventHandler

from leslied.tail.inotify_observer import InotifyObserver
from tests.support.inotify import WatchLimit
from tests.support.waiting import wait_until


class Recorder(FileSystemEventHandler):
    """A handler that records the paths of events, and the folders without events."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self.unwatched: dict[Path, Exception] = {}

    def dispatch(self, event: FileSystemEvent) -> None:
        self.paths.add(Path(str(event.src_path)))


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
    observer = InotifyObserver(recorder.unwatched.__setitem__)
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
def test_a_watched_folder_that_cannot_be_watched_is_reported_and_raises(
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
    observer = InotifyObserver(recorder.unwatched.__setitem__)
    observer.start()
    observer.schedule(recorder, tmp_path)
    emitters = list(observer.emitters)

    observer.stop()
    observer.join()

    assert not any(thread.is_alive() for thread in (*emitters, observer._inotify))
