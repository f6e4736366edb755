"""The daemon's loop: whatever fails is named and retried, and the rest goes on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from leslied.cli.desk import Desk
from leslied.daemon import Loop, Notifier
from leslied.log import open_log
from leslied.model.failure import Failure
from leslied.paths import find_places, read_environ
from leslied.pipeline import (
    Collect,
    Ingest,
    Keep,
    Publish,
    Relate,
    Settle,
    Stops,
    Told,
)
from leslied.store import Store, StoreReader
from leslied.tail.watch import Watcher
from tests.support.claude import LATER, ClaudeHome, Talk
from tests.support.clock import FakeClock

STAGES: dict[str, list[tuple[type, str]]] = {
    "config": [(Desk, "make_streets")],
    "watch": [(Watcher, "renew"), (Watcher, "wait")],
    "ingest claude-code": [(Ingest, "scan"), (Ingest, "look")],
    "hook events": [(Told, "listen")],
    "stop detection": [(Stops, "check")],
    "transcripts": [(Settle, "run")],
    "asset index": [(Collect, "run"), (Collect, "scan")],
    "relations": [(Relate, "run")],
    "exports": [(Publish, "run")],
    "archive": [(Keep, "run")],
}


@dataclass
class Daemon:
    """A loop over a home with one project, driven turn by turn."""

    loop: Loop
    clock: FakeClock
    reader: StoreReader
    project: Path

    def turn(self, times: int = 6) -> None:
        """Scan everything, and let the stages after it have their turns."""
        self.loop.scan_soon()
        for _ in range(times):
            self.loop.watcher.wake()
            self.loop._turn()
            self.clock.advance(3)

    def failures(self) -> dict[str, Failure]:
        return {failure.name: failure for failure in self.reader.failures()}

    def transcripts(self) -> list[str]:
        folder = self.project / ".leslie" / "threads"
        return sorted(path.name for path in folder.glob("*/.meta/transcripts/*"))


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "app"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def daemon(
    clock: FakeClock, project: Path, home: Path, tmp_path: Path
) -> Iterator[Daemon]:
    environ = read_environ()
    desk = Desk(environ, find_places(environ), clock)
    desk.places.config_file.parent.mkdir(parents=True)
    desk.places.config_file.write_text('[output]\nformats = ["markdown"]\n')
    with Store(desk.places.store_file, clock) as store, desk.open_reader() as reader:

        def renew():
            return desk.make_streets(store, reader, is_light=True)

        streets = renew()
        watcher = Watcher(streets.watched, tmp_path / "canary", clock)
        loop = Loop(
            streets=streets,
            renew=renew,
            watcher=watcher,
            clock=clock,
            log=open_log(as_json=True),
            notifier=Notifier({}),
        )
        watcher.start()
        yield Daemon(loop, clock, reader, project)
        watcher.stop()


@pytest.fixture
def talk(project: Path) -> Talk:
    return Talk(cwd=str(project), began=LATER)


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("stage", STAGES)
def test_a_failing_stage_is_named_and_later_done(
    daemon: Daemon,
    claude: ClaudeHome,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
):
    with monkeypatch.context() as patch:
        for owner, name in STAGES[stage]:
            patch.setattr(owner, name, fail)
        daemon.turn()
        failure = daemon.failures()[stage]
    claude.write(talk.prompt("fix it"), talk.answer("Done."))
    daemon.clock.advance(60)
    daemon.turn()

    assert failure.scope == "stage"
    assert failure.reason.startswith("unexpected ZeroDivisionError")
    assert stage not in daemon.failures()
    assert len(daemon.transcripts()) == 1


@pytest.mark.parametrize(
    "stage", ["config", "watch", "hook events", "stop detection", "asset index"]
)
def test_the_stages_after_a_failing_one_run(
    daemon: Daemon,
    claude: ClaudeHome,
    talk: Talk,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
):
    for owner, name in STAGES[stage]:
        monkeypatch.setattr(owner, name, fail)
    claude.write(talk.prompt("fix it"), talk.answer("Done."))
    daemon.turn()

    assert len(daemon.transcripts()) == 1


def test_exports_are_written_although_relations_fail(
    daemon: Daemon, claude: ClaudeHome, talk: Talk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Relate, "run", fail)
    exported: list[int] = []
    monkeypatch.setattr(Publish, "run", lambda *_, **__: exported.append(1))

    daemon.turn()

    assert exported


def test_a_failing_stage_is_logged_once(
    daemon: Daemon,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(Publish, "run", fail)

    daemon.turn(8)

    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    (event,) = (each for each in log if each["event"] == "stage.fail")
    assert event["name"] == "exports"


def test_an_error_outside_any_stage_does_not_end_the_loop(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Loop, "_scan", fail)
    monkeypatch.setattr("leslied.daemon.loop._RETRY_SECONDS", 0)

    daemon.turn()
