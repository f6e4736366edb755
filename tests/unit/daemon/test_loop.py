"""Test the daemon's loop: its iterations, when scans run, and what failures do."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from leslied import pipeline
from leslied.app import App
from leslied.daemon import Loop, Notifier, handle_signals
from leslied.errors import StoreLost
from leslied.hooks.spool import write_event
from leslied.log import make_logger
from leslied.model.failure import Failure
from leslied.model.times import to_ns
from leslied.paths import get_paths, read_environ
from leslied.pipeline import (
    Archiver,
    AssetIndex,
    Budget,
    Exports,
    ExportsReport,
    Flow,
    HookEvents,
    Ingest,
    RelationsSync,
    Report,
    Stage,
    StopDetection,
    TranscriptStage,
    make_stages,
)
from leslied.store import Store, StoreReader
from leslied.tail.watch import ChangeReport, Watcher, WatchMode
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.clock import FakeClock
from tests.support.daemon import list_prompts
from tests.support.inotify import WatchLimit, make_silent_observer
from tests.support.waiting import wait_until

STAGES: dict[str, list[tuple[type, str]]] = {
    "config": [(App, "make_flow")],
    "watch": [(Watcher, "refresh"), (Watcher, "wait")],
    "ingest claude-code": [(Ingest, "run")],
    "hook events": [(HookEvents, "run")],
    "stop detection": [(StopDetection, "run")],
    "transcripts": [(TranscriptStage, "run")],
    "asset index": [(AssetIndex, "run")],
    "relations": [(RelationsSync, "run")],
    "exports": [(Exports, "run")],
    "archive": [(Archiver, "run")],
}


@dataclass
class LoopHarness:
    """A loop over a home with one project, driven iteration by iteration."""

    loop: Loop
    clock: FakeClock
    reader: StoreReader
    project: Path

    def iterate(self, times: int = 6) -> None:
        """Request a scan and run the loop several times, so that every stage runs."""
        self.loop.request_scan()
        for _ in range(times):
            self.loop.watcher.wake()
            self.loop._run_once()
            self.clock.advance(3)

    def failures(self) -> dict[str, Failure]:
        return {failure.name: failure for failure in self.reader.list_failures()}

    def transcripts(self) -> list[str]:
        folder = self.project / ".leslie" / "threads"
        return sorted(path.name for path in folder.glob("*/.meta/transcripts/*"))


@pytest.fixture
def daemon(
    clock: FakeClock, project: Path, home: Path, tmp_path: Path
) -> Iterator[LoopHarness]:
    environ = read_environ()
    app = App(environ, get_paths(environ), clock)
    app.paths.config_file.parent.mkdir(parents=True)
    app.paths.config_file.write_text('[output]\nformats = ["markdown"]\n')
    with Store(app.paths.store_file, clock) as store, app.open_reader() as reader:

        def make_flow():
            return app.make_flow(store, reader, is_daemon=True)

        flow = make_flow()
        watcher = Watcher(flow.watched_roots, tmp_path / "canary", clock)
        loop = Loop(
            flow=flow,
            make_flow=make_flow,
            watcher=watcher,
            clock=clock,
            log=make_logger(str, as_json=True),
            notifier=Notifier({}),
        )
        watcher.start()
        yield LoopHarness(loop, clock, reader, project)
        watcher.stop()


@pytest.fixture
def builder(project: Path) -> ClaudeLogBuilder:
    return ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("stage", STAGES)
def test_a_failing_stage_is_recorded_and_later_succeeds(
    daemon: LoopHarness,
    claude: ClaudeHome,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
):
    with monkeypatch.context() as patch:
        for owner, name in STAGES[stage]:
            patch.setattr(owner, name, fail)
        daemon.iterate()
        failure = daemon.failures()[stage]
    claude.write(builder.prompt("fix it"), builder.answer("Done."))
    daemon.clock.advance(60)
    daemon.iterate()

    assert failure.scope == "stage"
    assert failure.reason.startswith("unexpected ZeroDivisionError")
    assert stage not in daemon.failures()
    assert len(daemon.transcripts()) == 1


@pytest.mark.parametrize(
    "stage", ["config", "watch", "hook events", "stop detection", "asset index"]
)
def test_the_stages_after_a_failing_one_run(
    daemon: LoopHarness,
    claude: ClaudeHome,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
):
    for owner, name in STAGES[stage]:
        monkeypatch.setattr(owner, name, fail)
    claude.write(builder.prompt("fix it"), builder.answer("Done."))
    daemon.iterate()

    assert len(daemon.transcripts()) == 1


@pytest.mark.usefixtures("claude", "builder")
def test_exports_run_although_relations_fail(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(RelationsSync, "run", fail)
    export_runs: list[int] = []
    monkeypatch.setattr(
        Exports, "run", lambda *_: export_runs.append(1) or ExportsReport()
    )

    daemon.iterate()

    assert export_runs


def test_a_failing_stage_is_logged_once(
    daemon: LoopHarness,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(Exports, "run", fail)

    daemon.iterate(8)

    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    (event,) = (line for line in log if line["event"] == "stage.fail")
    assert event["name"] == "exports"


def test_a_folder_that_a_hook_named_is_read_at_once(
    daemon: LoopHarness, claude: ClaudeHome, builder: ClaudeLogBuilder, home: Path
):
    daemon.iterate(1)
    claude.projects = home / "elsewhere" / "projects"
    log = claude.write(builder.prompt("fix it"), builder.answer("Done."))
    spool = daemon.loop.flow.get_stage(HookEvents).spool_dir
    event = {"hook_event_name": "Stop", "transcript_path": str(log)}
    spool.mkdir(parents=True)
    (spool / "1.json").write_text(json.dumps(event))

    for _ in range(3):
        daemon.loop.watcher.wake()
        daemon.loop._run_once()
        daemon.clock.advance(3)

    watched = [root.path for root in daemon.loop.flow.watched_roots]
    assert claude.projects in watched
    assert len(daemon.transcripts()) == 1


class BellStage(Stage):
    """A stage that only the test knows."""

    name = "bell"

    def run(self, budget: Budget) -> Report:
        return Report(errors={"tower": "too high"})


def test_a_new_stage_is_run_and_logged(
    daemon: LoopHarness,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(
        pipeline, "make_stages", lambda context: [*make_stages(context), BellStage()]
    )

    daemon.iterate(2)

    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    (event,) = (line for line in log if line.get("name") == "tower")
    assert event["reason"] == "too high"


def test_an_error_outside_any_stage_does_not_end_the_loop(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Loop, "_scan", fail)
    monkeypatch.setattr("leslied.daemon.loop._RETRY_SECONDS", 0)

    daemon.iterate()


class TurnHarness:
    """A session whose agent calls the Stop hook, next to a loop that has scanned."""

    def __init__(self, daemon: LoopHarness, claude: ClaudeHome) -> None:
        self.daemon = daemon
        self.builder = ClaudeLogBuilder(
            cwd=str(daemon.project), started_at=daemon.clock.at.replace(tzinfo=None)
        )
        self.claude = claude
        self.log = claude.log()
        # The times of the session's lines are between the first scan and the hook.
        daemon.iterate(1)
        daemon.clock.advance(10)

    def write(self, *lines: dict[str, Any]) -> None:
        """Write lines and run the loop once, as for their file event."""
        self.claude.write(*lines)
        self.daemon.loop._run_flow(Budget(changed_paths={self.log}))

    def end_turn(self) -> None:
        """Write a turn whose end the log has, as after all stop hooks have run."""
        self.write(
            self.builder.prompt("fix it"),
            self.builder.answer("Done."),
            self.builder.line("system", subtype="stop_hook_summary"),
        )

    def call_stop_hook(self) -> None:
        """Leave the event in the spool and run the loop once."""
        event = {
            "hook_event_name": "Stop",
            "session_id": SESSION,
            "transcript_path": str(self.log),
        }
        data_dir = self.daemon.loop.flow.get_stage(HookEvents).data_dir
        write_event(str(data_dir), event, to_ns(self.daemon.clock.now()))
        self.daemon.loop._run_flow(Budget(changed_paths=set()))

    def transcripts(self) -> list[str]:
        return self.daemon.transcripts()


@pytest.fixture
def turn(daemon: LoopHarness, claude: ClaudeHome) -> TurnHarness:
    return TurnHarness(daemon, claude)


@pytest.mark.fault("D14")
def test_the_run_that_reads_the_stop_hook_writes_the_transcript(turn: TurnHarness):
    turn.end_turn()
    before = turn.transcripts()
    turn.call_stop_hook()

    assert before == []
    assert len(turn.transcripts()) == 1


@pytest.mark.fault("D14")
def test_the_run_that_reads_the_end_after_the_stop_hook_writes_the_transcript(
    turn: TurnHarness,
):
    turn.call_stop_hook()
    before = turn.transcripts()
    turn.end_turn()

    assert before == []
    assert len(turn.transcripts()) == 1


def test_an_announced_end_survives_a_reload_of_the_settings(turn: TurnHarness):
    turn.call_stop_hook()
    turn.daemon.loop._reload_flow()
    turn.end_turn()

    assert len(turn.transcripts()) == 1


def test_a_stop_that_another_hook_refuses_is_not_the_end_of_the_turn(
    turn: TurnHarness,
):
    builder = turn.builder
    turn.call_stop_hook()
    turn.write(
        builder.prompt("fix it"),
        builder.answer("Done."),
        builder.prompt("Stop hook feedback:\nTests fail.", isMeta=True),
        builder.line("system", subtype="stop_hook_summary", hookErrors=["Tests fail."]),
    )
    turn.daemon.clock.advance(5)
    turn.write()
    before = turn.transcripts()
    turn.write(
        builder.answer("Now they pass."),
        builder.line("system", subtype="stop_hook_summary"),
    )
    turn.call_stop_hook()

    assert before == []
    (transcript,) = turn.daemon.project.glob(".leslie/threads/*/.meta/transcripts/*")
    assert "Now they pass." in transcript.read_text()


def test_the_loop_wakes_up_when_a_quiet_unit_can_be_settled(
    turn: TurnHarness, monkeypatch: pytest.MonkeyPatch
):
    waits: list[float] = []
    loop, clock = turn.daemon.loop, turn.daemon.clock

    def wait(seconds: float) -> ChangeReport:
        waits.append(round(seconds, 3))
        clock.advance(seconds)
        return ChangeReport()

    monkeypatch.setattr(loop.watcher, "wait", wait)
    turn.end_turn()
    clock.advance(0.2)
    while not turn.transcripts():
        loop._run_once()

    # The first wait is none: the project of the new folder is looked up.
    assert waits == [0.0, 1.8]


class RecordingStage(Stage):
    """A stage that takes some time, and records whether its budget yields."""

    name = "recording"

    def __init__(self, clock: FakeClock, *, has_more: bool = False) -> None:
        self.clock, self.has_more = clock, has_more
        self.yields: list[bool] = []

    def run(self, budget: Budget) -> Report:
        for _ in range(3):
            self.yields.append(budget.should_yield())
            self.clock.advance(0.1)
        return Report(has_more=self.has_more)


@pytest.fixture
def quiet_loop(daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch) -> LoopHarness:
    """Return a loop that has scanned, whose file events are set by the test."""
    daemon.iterate(1)
    monkeypatch.setattr(daemon.loop.watcher, "has_changes", lambda: True)
    return daemon


def record_waits(daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the list to which each wait for events is added."""
    waits: list[float] = []
    monkeypatch.setattr(
        daemon.loop.watcher,
        "wait",
        lambda seconds: waits.append(seconds) or ChangeReport(),
    )
    return waits


def set_stage(daemon: LoopHarness, stage: Stage) -> None:
    daemon.loop.flow.stages = [stage]
    daemon.loop.flow.awake.clear()


def test_a_run_with_new_entries_has_a_share_of_time_before_it_yields(
    quiet_loop: LoopHarness,
):
    stage = RecordingStage(quiet_loop.clock)
    set_stage(quiet_loop, stage)

    quiet_loop.loop._run_flow(Budget(changed_paths=[Path("/a.jsonl")]))

    assert stage.yields == [False, False, True]


def test_a_run_without_new_entries_yields_to_them_at_once(quiet_loop: LoopHarness):
    stage = RecordingStage(quiet_loop.clock)
    set_stage(quiet_loop, stage)

    quiet_loop.loop._run_flow(Budget(changed_paths=()))

    assert stage.yields == [True] * 3


def test_a_run_without_waiting_entries_does_not_yield(
    quiet_loop: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(quiet_loop.loop.watcher, "has_changes", lambda: False)
    stage = RecordingStage(quiet_loop.clock)
    set_stage(quiet_loop, stage)

    quiet_loop.loop._run_flow(Budget(changed_paths=()))

    assert stage.yields == [False] * 3


def test_a_stop_makes_a_run_yield_and_skips_the_other_stages(
    quiet_loop: LoopHarness,
):
    stages = [RecordingStage(quiet_loop.clock) for _ in range(2)]
    quiet_loop.loop.flow.stages = stages
    quiet_loop.loop.stopping.set()

    quiet_loop.loop._run_flow(Budget(changed_paths=[Path("/a.jsonl")]))

    assert [stage.yields for stage in stages] == [[], []]


@pytest.mark.parametrize(("has_more", "pause"), [(False, 0.05), (True, 0.0)])
def test_the_pause_after_a_run_is_short_and_none_if_there_is_more_to_do(
    quiet_loop: LoopHarness,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_more: bool,
    pause: float,
):
    loop, clock = quiet_loop.loop, quiet_loop.clock
    set_stage(quiet_loop, RecordingStage(clock, has_more=has_more))
    changes = ChangeReport(frozenset({Path("/a.jsonl")}))
    monkeypatch.setattr(loop.watcher, "wait", lambda _: changes)
    started_at = clock.monotonic()

    loop._run_once()

    assert clock.monotonic() - started_at == pytest.approx(0.3 + pause)


def test_unfinished_work_is_continued_without_waiting(
    quiet_loop: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    waits = record_waits(quiet_loop, monkeypatch)
    set_stage(quiet_loop, RecordingStage(quiet_loop.clock, has_more=True))

    quiet_loop.loop._run_once()
    quiet_loop.loop._run_once()

    assert waits == [2.5, 0.0]


class PollingStage(RecordingStage):
    """A stage that waits for something that no event announces."""

    is_polling = True


@pytest.mark.parametrize(
    ("kind", "is_awake", "seconds"),
    [
        (RecordingStage, False, 2.5),
        (PollingStage, False, 0.5),
        (RecordingStage, True, 0.5),
    ],
)
def test_ticks_are_longer_while_only_events_can_bring_work(
    quiet_loop: LoopHarness,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[RecordingStage],
    seconds: float,
    *,
    is_awake: bool,
):
    waits = record_waits(quiet_loop, monkeypatch)
    set_stage(quiet_loop, kind(quiet_loop.clock))
    if is_awake:
        quiet_loop.loop.flow.awake.add("a slow stage")

    quiet_loop.loop._run_once()

    assert waits == [seconds]


def test_ticks_stay_short_for_a_while_after_a_change(
    quiet_loop: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    loop, clock = quiet_loop.loop, quiet_loop.clock
    set_stage(quiet_loop, RecordingStage(clock))
    changes = ChangeReport(frozenset({Path("/a.jsonl")}))
    monkeypatch.setattr(loop.watcher, "wait", lambda _: changes)
    loop._run_once()
    waits = record_waits(quiet_loop, monkeypatch)

    loop._run_once()
    clock.advance(15)
    loop._run_once()

    assert waits == [0.5, 2.5]


class RecordingNotifier(Notifier):
    """A notifier that counts what it would send."""

    def __init__(self) -> None:
        super().__init__({})
        self.pings = 0

    def ping(self) -> None:
        self.pings += 1


def run_twice(daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch, work: Any) -> int:
    """Run two iterations that do this work; return how often they pinged."""
    loop = daemon.loop
    notifier = loop.notifier = RecordingNotifier()
    iterations = iter([lambda: None, loop.stopping.set])

    def run(self: Loop) -> None:
        next(iterations)()
        work()

    monkeypatch.setattr(Loop, "_scan", run)
    monkeypatch.setattr(Loop, "_handle_changes", run)
    loop.run()
    return notifier.pings


def test_an_iteration_without_work_pings_the_watchdog(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    assert run_twice(daemon, monkeypatch, lambda: None) == 2


def test_an_iteration_that_fails_does_not_show_that_the_daemon_is_healthy(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    assert run_twice(daemon, monkeypatch, fail) == 0


def test_the_loop_ends_if_its_store_was_removed(daemon: LoopHarness):
    daemon.iterate(1)
    daemon.loop.flow.store.path.unlink()

    with pytest.raises(StoreLost):
        daemon.iterate(1)


class ScriptedWatcher(Watcher):
    """A watcher without an observer, whose waits move the clock."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__([], Path("canary"), clock)
        self.clock = clock
        self.scripted_mode: WatchMode = "events"
        self.reports: list[ChangeReport] = []
        """What the next waits return."""

    @property
    def mode(self) -> WatchMode:
        return self.scripted_mode

    def refresh(self) -> bool:
        return True

    def wait(self, seconds: float) -> ChangeReport:
        self.clock.advance(seconds)
        return self.reports.pop(0) if self.reports else ChangeReport()


@dataclass
class ScanHarness:
    """A loop that records when it scans."""

    loop: Loop
    clock: FakeClock
    watcher: ScriptedWatcher
    started_at: float
    times: list[float]
    """Seconds from the start to each scan."""

    @property
    def seconds(self) -> float:
        """Seconds from the start until now."""
        return self.clock.monotonic() - self.started_at

    def run_for(self, seconds: float) -> None:
        end = self.seconds + seconds
        while self.seconds < end:
            self.loop._run_once()


@pytest.fixture
def scans(daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch) -> ScanHarness:
    clock, times = daemon.clock, []
    started_at, scan = clock.monotonic(), Ingest.scan

    def record(stage: Ingest, *args: Any) -> Any:
        if stage.adapter.name == "claude-code":
            times.append(clock.monotonic() - started_at)
        return scan(stage, *args)

    monkeypatch.setattr(Ingest, "scan", record)
    watcher = daemon.loop.watcher = ScriptedWatcher(clock)
    return ScanHarness(daemon.loop, clock, watcher, started_at, times)


@pytest.mark.parametrize(
    ("mode", "times"),
    [("events", [0, 30, 60, 90]), ("polling", [0, 10, 20, 30, 40, 50, 60, 70, 80, 90])],
)
def test_everything_is_scanned_again_and_again_without_any_event(
    scans: ScanHarness, mode: WatchMode, times: list[float]
):
    scans.watcher.scripted_mode = mode

    scans.run_for(91)

    assert scans.times == times


def test_lost_events_cause_a_scan_at_once(scans: ScanHarness):
    scans.run_for(7)
    scans.watcher.reports = [ChangeReport(needs_scan=True)]
    scans.loop._run_once()
    time = scans.seconds
    scans.loop._run_once()

    assert scans.times == [0, time]


def test_a_scan_follows_an_iteration_that_failed(
    scans: ScanHarness, monkeypatch: pytest.MonkeyPatch
):
    scans.run_for(7)
    with monkeypatch.context() as patch:
        patch.setattr(Flow, "run", fail)
        scans.loop._run_once()
    time = scans.seconds
    scans.loop._run_once()

    assert scans.times == [0, time]


def test_a_scan_follows_a_pause(scans: ScanHarness):
    scans.run_for(7)
    scans.loop.is_paused = lambda: True
    scans.loop._run_once()
    scans.loop.is_paused = lambda: False
    time = scans.seconds
    scans.loop._run_once()

    assert scans.times == [0, time]


def test_a_scan_that_is_requested_during_a_scan_is_not_forgotten(
    scans: ScanHarness, monkeypatch: pytest.MonkeyPatch
):
    loop, run = scans.loop, StopDetection.run
    monkeypatch.setattr(
        StopDetection,
        "run",
        lambda stage, *args: loop.request_scan() or run(stage, *args),
    )

    loop._run_once()
    loop._run_once()

    assert scans.times == [0, 0]


@pytest.mark.fault("D14")
@pytest.mark.parametrize("is_hook_first", [True, False])
def test_a_turn_that_hook_and_watcher_announce_has_one_transcript(
    turn: TurnHarness, *, is_hook_first: bool
):
    first, second = turn.end_turn, turn.call_stop_hook
    if is_hook_first:
        first, second = second, first
    first()
    second()
    turn.daemon.clock.advance(60)
    turn.daemon.iterate()
    turn.call_stop_hook()
    turn.daemon.iterate()

    assert len(turn.transcripts()) == 1


@pytest.mark.fault("E13")
@pytest.mark.parametrize("text", ["[output\n", "[output]\nthinkin = true\n", "\0"])
def test_invalid_settings_are_reported_once_and_the_last_valid_ones_apply(
    daemon: LoopHarness, capfd: pytest.CaptureFixture[str], text: str
):
    daemon.iterate(1)
    flow = daemon.loop.flow
    config_file = get_paths(read_environ()).config_file
    config_file.write_text(text)

    for _ in range(3):
        daemon.iterate(1)

    log = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    events = [line for line in log if line["event"] == "config.invalid"]
    assert len(events) == 1
    assert str(config_file) in events[0]["reason"]
    assert daemon.loop.flow is flow


@pytest.mark.fault("F3")
def test_after_a_long_sleep_the_loop_scans_once(
    daemon: LoopHarness,
    claude: ClaudeHome,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
):
    daemon.iterate(1)
    claude.write(builder.prompt("while it slept"))
    daemon.clock.advance(8 * 3600)
    waits = record_waits(daemon, monkeypatch)

    for _ in range(4):
        daemon.loop._run_once()

    # The first iteration is the scan, which does not wait.
    assert len(waits) == 3
    assert daemon.reader.count_rows()["sessions"] == 1


@pytest.mark.fault("F1")
@pytest.mark.parametrize("year", [1970, 2100])
def test_a_clock_that_jumps_delays_no_scan(
    daemon: LoopHarness, claude: ClaudeHome, builder: ClaudeLogBuilder, year: int
):
    daemon.iterate(1)
    daemon.clock.at = daemon.clock.at.replace(year=year)
    claude.write(builder.prompt("fix it"), builder.answer("Done."))
    daemon.clock.advance(30)

    for _ in range(6):
        daemon.loop.watcher.wake()
        daemon.loop._run_once()
        daemon.clock.advance(3)

    assert daemon.reader.count_rows()["sessions"] == 1
    assert len(daemon.transcripts()) == 1


class ClockedWatcher(Watcher):
    """A real watcher whose waits move the fake clock instead of taking time."""

    clock: FakeClock
    frozen_seconds = 0.0
    """How much longer than requested the next wait takes, as if the process slept."""

    def wait(self, seconds: float) -> ChangeReport:
        if not self.has_changes() and not self._queue.is_woken:
            self.clock.advance(seconds)
        self.clock.advance(self.frozen_seconds)
        self.frozen_seconds = 0.0
        return super().wait(0)

    def wait_for_canary(self) -> None:
        """Let the event of the canary file arrive, which takes real time."""
        wait_until(lambda: not self._queue.is_canary_pending)


class IterationRecorder(Stage):
    """A stage that records the budget and the time of every iteration."""

    name = "recorder"

    def __init__(self, clock: FakeClock, notifier: RecordingNotifier) -> None:
        self.clock, self.notifier = clock, notifier
        self.budgets: list[Budget] = []
        self.scan_times: list[float] = []
        self.pings: list[int] = []
        """How often the notifier had pinged when each iteration ran."""

    def run(self, budget: Budget) -> Report:
        self.budgets.append(budget)
        self.pings.append(self.notifier.pings)
        if budget.is_scan:
            self.scan_times.append(self.clock.monotonic())
        return Report()


@dataclass
class LoopRunner:
    """A loop of real components on a fake clock, which runs iteration by iteration."""

    loop: Loop
    clock: FakeClock
    watcher: ClockedWatcher
    notifier: RecordingNotifier
    recorder: IterationRecorder
    config_file: Path
    store: Path
    scanned_at: list[datetime | None]
    """Times of scans that were published."""
    is_paused: bool = False

    def run(self, count: int = 1) -> list[bool]:
        """Run turns; return of each whether it succeeded."""
        results = []
        for _ in range(count):
            results.append(self.loop._run_once())
            self.watcher.wait_for_canary()
        return results

    def run_for(self, seconds: float) -> None:
        """Run iterations until so much time has passed."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            self.run()

    def scan_and_settle(self) -> None:
        """Run until only a change or the next scan, in 20 seconds, brings work."""
        self.run_for(60)
        assert self.watcher.mode == "events"
        self.loop.request_scan()
        self.run(2)
        self.run_for(10)

    def lose_all_events(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Watch with an observer that has no events from now on."""
        monkeypatch.setattr("leslied.tail.watch._make_observer", make_silent_observer)
        monkeypatch.setattr(self.watcher, "wait_for_canary", lambda: None)
        self.watcher.start()

    def count_scans(self) -> int:
        return len(self.recorder.scan_times)


@pytest.fixture
def runner(
    clock: FakeClock,
    claude: ClaudeHome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[LoopRunner]:
    environ = read_environ()
    app = App(environ, get_paths(environ), clock)
    claude.projects.mkdir(parents=True)
    (tmp_path / "state").mkdir()
    notifier = RecordingNotifier()
    recorder = IterationRecorder(clock, notifier)
    monkeypatch.setattr(
        pipeline, "make_stages", lambda context: [*make_stages(context), recorder]
    )
    with Store(app.paths.store_file, clock) as store, app.open_reader() as reader:
        make_flow = partial(
            app.make_flow,
            store,
            reader,
            is_daemon=True,
            on_progress=lambda *_: notifier.ping(),
        )
        flow = make_flow()
        watcher = ClockedWatcher(
            flow.watched_roots, tmp_path / "state" / "canary", clock
        )
        watcher.clock = clock
        scanned_at: list[datetime | None] = []
        loop = Loop(
            flow=flow,
            make_flow=make_flow,
            watcher=watcher,
            clock=clock,
            log=make_logger(str, as_json=True),
            notifier=notifier,
            is_paused=lambda: runner.is_paused,
            publish=lambda _, time: scanned_at.append(time),
        )
        runner = LoopRunner(
            loop,
            clock,
            watcher,
            notifier,
            recorder,
            app.paths.config_file,
            app.paths.store_file,
            scanned_at,
        )
        watcher.start()
        watcher.wait_for_canary()
        yield runner
        watcher.stop()


def read_log(capfd: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    """Return what the loop has logged about an event."""
    lines = capfd.readouterr().err.split("\n")
    log = [json.loads(line) for line in lines if line]
    return [line for line in log if line["event"] == event]


def test_the_first_iteration_is_a_scan(runner: LoopRunner):
    runner.run()

    assert [budget.is_scan for budget in runner.recorder.budgets] == [True]


def test_all_sources_are_scanned_every_30_seconds(runner: LoopRunner):
    runner.run_for(60)
    runner.recorder.scan_times.clear()
    runner.run_for(600)

    times = runner.recorder.scan_times
    assert len(times) == 20
    assert {after - before for before, after in pairwise(times)} == {30.0}


@pytest.mark.fault("C2", "C3", "C6")
def test_without_file_events_all_sources_are_scanned_every_10_seconds(
    runner: LoopRunner, monkeypatch: pytest.MonkeyPatch
):
    runner.lose_all_events(monkeypatch)
    runner.run_for(60)
    runner.recorder.scan_times.clear()
    runner.run_for(600)

    times = runner.recorder.scan_times
    assert len(times) == 60
    assert {after - before for before, after in pairwise(times)} == {10.0}


@pytest.mark.fault("C2")
def test_a_folder_that_is_not_watched_is_scanned_every_10_seconds_until_it_is(
    runner: LoopRunner, claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    limit = WatchLimit(monkeypatch)
    limit.refused_names = {"late"}
    runner.scan_and_settle()
    (claude.projects / "late").mkdir()
    wait_until(runner.watcher.has_changes)
    runner.run(2)
    runner.run_for(100)
    times_while_unwatched = runner.recorder.scan_times[-5:]
    limit.refused_names = set()
    runner.run_for(300)
    times_while_watched = runner.recorder.scan_times[-5:]

    for times, seconds in ((times_while_unwatched, 10.0), (times_while_watched, 30.0)):
        assert {after - before for before, after in pairwise(times)} == {seconds}


@pytest.mark.fault("C2")
def test_missing_file_events_are_logged_once_and_so_is_their_return(
    runner: LoopRunner,
    claude: ClaudeHome,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    limit = WatchLimit(monkeypatch)
    limit.refused_names = {f"late{number}" for number in range(5)}
    for name in sorted(limit.refused_names):
        (claude.projects / name).mkdir()
        runner.loop.request_scan()
        runner.watcher.start()
        runner.run_for(20)
    limit.refused_names = set()
    runner.run_for(60)

    problem, end = read_log(capfd, "watch.refresh")
    assert (
        "late0: inotify watch limit reached; changes are seen every 10 seconds"
        in (problem["reason"])
    )
    assert "max_user_watches" in problem["hint"]
    assert end["reason"] == "file events arrive again"


def test_an_idle_iteration_waits_a_tick_and_includes_the_backlog(runner: LoopRunner):
    runner.scan_and_settle()
    started_at = runner.clock.monotonic()
    runner.run()

    budget = runner.recorder.budgets[-1]
    assert runner.clock.monotonic() - started_at == 2.5
    assert not budget.is_scan
    assert not budget.changed_paths
    assert budget.includes_backlog


def test_an_iteration_after_an_event_reads_the_changed_file(
    runner: LoopRunner, claude: ClaudeHome, builder: ClaudeLogBuilder
):
    log = claude.write(builder.prompt("one"))
    runner.scan_and_settle()
    scans = runner.count_scans()
    claude.write(builder.prompt("two"))
    wait_until(runner.watcher.has_changes)
    runner.run()

    budget = runner.recorder.budgets[-1]
    assert budget.changed_paths == {log}
    assert not budget.includes_backlog
    assert list_prompts(runner.store) == ["one", "two"]
    assert runner.count_scans() == scans


@pytest.mark.fault("C6")
def test_without_an_event_the_next_scan_reads_the_changed_file(
    runner: LoopRunner,
    claude: ClaudeHome,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
):
    runner.scan_and_settle()
    runner.lose_all_events(monkeypatch)
    claude.write(builder.prompt("one"))
    runner.run_for(10)
    before = list_prompts(runner.store)
    runner.run_for(20)

    assert before == []
    assert list_prompts(runner.store) == ["one"]


def lose_events(runner: LoopRunner) -> None:
    logging.getLogger("watchdog.observers.inotify_c").warning("queue overflowed")


def freeze_process(runner: LoopRunner) -> None:
    runner.watcher.frozen_seconds = 3.0


def suspend_machine(runner: LoopRunner) -> None:
    """Let only the wall clock go on, as the monotonic clock does not while asleep."""
    runner.run()
    runner.clock.at += timedelta(seconds=3)


def set_clock_back(runner: LoopRunner) -> None:
    runner.run()
    runner.clock.at -= timedelta(hours=1)


def create_folder(runner: LoopRunner) -> None:
    (root,) = (
        root.path
        for root in runner.loop.flow.watched_roots
        if root.path.name == "projects" and root.path.is_dir()
    )
    (root / "new").mkdir()
    wait_until(runner.watcher.has_changes)


def continue_process(runner: LoopRunner) -> None:
    """Send the signal that a stopped process gets when it continues."""
    with handle_signals() as signals:
        signals.loop = runner.loop
        os.kill(os.getpid(), signal.SIGCONT)


@pytest.mark.fault("C1", "F3")
@pytest.mark.parametrize(
    "hint",
    [
        lose_events,
        freeze_process,
        suspend_machine,
        set_clock_back,
        create_folder,
        continue_process,
    ],
)
def test_a_hint_that_events_were_lost_causes_a_scan_at_once(
    runner: LoopRunner, hint: Callable[[LoopRunner], None]
):
    runner.scan_and_settle()
    scans = runner.count_scans()
    hint(runner)
    runner.run(2)

    assert runner.count_scans() == scans + 1


def test_a_wait_of_normal_length_causes_no_scan(runner: LoopRunner):
    runner.scan_and_settle()
    scans = runner.count_scans()
    runner.watcher.frozen_seconds = 1.0
    runner.run(3)

    assert runner.count_scans() == scans


def test_a_failed_iteration_pauses_and_is_followed_by_a_scan(
    runner: LoopRunner, monkeypatch: pytest.MonkeyPatch
):
    runner.scan_and_settle()
    scans, started_at = runner.count_scans(), runner.clock.monotonic()
    runner.watcher.wake()
    with monkeypatch.context() as patch:
        patch.setattr(type(runner.loop.flow), "run", fail)
        results = runner.run()
    pause = runner.clock.monotonic() - started_at
    results += runner.run()

    assert results == [False, True]
    assert pause == 5.0
    assert runner.count_scans() == scans + 1


def test_a_failed_scan_is_not_published_as_complete(
    runner: LoopRunner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(runner.loop.flow), "run", fail)
    runner.run(3)

    assert runner.scanned_at == []


def test_the_start_of_each_complete_scan_is_published(runner: LoopRunner):
    times = []
    for _ in range(3):
        runner.loop.request_scan()
        times.append(runner.clock.now())
        runner.run()
        runner.clock.advance(1)

    assert runner.scanned_at == times


def test_a_paused_loop_only_waits_and_scans_when_it_continues(
    runner: LoopRunner, claude: ClaudeHome, builder: ClaudeLogBuilder
):
    runner.scan_and_settle()
    count, scans = len(runner.recorder.budgets), runner.count_scans()
    runner.is_paused = True
    claude.write(builder.prompt("one"))
    runner.run_for(100)
    while_paused = len(runner.recorder.budgets), list_prompts(runner.store)
    runner.is_paused = False
    runner.run()

    assert while_paused == (count, [])
    assert runner.count_scans() == scans + 1
    assert list_prompts(runner.store) == ["one"]


def test_a_scan_applies_new_settings(runner: LoopRunner, home: Path):
    runner.scan_and_settle()
    folder = home / "elsewhere" / "projects"
    folder.mkdir(parents=True)
    runner.config_file.parent.mkdir(parents=True, exist_ok=True)
    runner.config_file.write_text(
        f'[agents.claude-code]\nroots = ["{folder.parent}"]\n'
    )
    runner.loop.request_scan()
    runner.run()
    (folder / "a.jsonl").touch()
    wait_until(runner.watcher.has_changes)

    assert folder in [root.path for root in runner.loop.flow.watched_roots]


def test_invalid_settings_are_logged_once_and_change_nothing(
    runner: LoopRunner, capfd: pytest.CaptureFixture[str]
):
    runner.scan_and_settle()
    roots = runner.loop.flow.watched_roots
    runner.config_file.parent.mkdir(parents=True, exist_ok=True)
    runner.config_file.write_text("[agents")
    runner.run_for(100)

    assert runner.loop.flow.watched_roots == roots
    (event,) = read_log(capfd, "config.invalid")
    assert "not valid TOML" in event["reason"]


def test_a_stop_ends_the_loop_after_the_iteration(
    runner: LoopRunner, capfd: pytest.CaptureFixture[str]
):
    recorder, loop = runner.recorder, runner.loop
    stop_after_three = iter([lambda: None, lambda: None, loop.stopping.set])
    runner.loop.is_paused = lambda: bool(next(stop_after_three)())
    loop.run()

    assert loop.has_ended
    assert len(recorder.budgets) == 2
    assert runner.watcher.mode == "polling"
    assert len(read_log(capfd, "daemon.stop")) == 1


@pytest.mark.fault("F4")
def test_the_watchdog_is_pinged_after_each_iteration_and_not_before_its_end(
    runner: LoopRunner,
):
    iterations = count(1)

    def is_paused() -> bool:
        """Stop the loop at the start of the fourth iteration."""
        if next(iterations) == 4:
            runner.loop.stopping.set()
        return False

    runner.loop.is_paused = is_paused
    runner.loop.run()

    # The recorder is a stage: it runs before the end of its iteration.
    assert runner.recorder.pings == [0, 1, 2]
    assert runner.notifier.pings == 4


@pytest.mark.fault("F4")
def test_a_backlog_of_more_than_10_minutes_pings_the_watchdog_all_the_time(
    runner: LoopRunner, claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
):
    """The service manager ends a daemon that does not ping for 60 seconds."""
    for number in range(40):
        builder = ClaudeLogBuilder(f"{number:08}-2222-4333-8444-555555555555")
        text = "x" * 200_000
        claude.write(builder.prompt(text), name=f"-app/{builder.session_id}.jsonl")
    started_at = runner.clock.monotonic()
    ping_times: list[float] = [started_at]
    monkeypatch.setattr(
        RecordingNotifier,
        "ping",
        lambda _: ping_times.append(runner.clock.monotonic()),
    )
    commit = Store.commit

    def commit_slowly(store: Store, chunks: Any) -> Any:
        runner.clock.advance(30)
        return commit(store, chunks)

    monkeypatch.setattr(Store, "commit", commit_slowly)
    while len(list_prompts(runner.store)) < 40:
        assert runner.run() == [True]
        runner.notifier.ping()

    assert runner.clock.monotonic() - started_at > 600
    assert max(after - before for before, after in pairwise(ping_times)) < 60


@pytest.mark.fault("C9")
def test_a_project_below_a_watched_root_causes_no_changes_by_leslied(
    runner: LoopRunner, claude: ClaudeHome
):
    project = claude.projects / "app"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(builder.prompt("fix it"), builder.answer("Done."))
    runner.run_for(60)
    transcripts = list(runner.store.parent.glob("central/**/transcripts/*.txt"))
    runner.scan_and_settle()
    count = len(runner.recorder.budgets)
    runner.run_for(10)

    assert len(transcripts) == 1
    assert [path.name for path in project.iterdir()] == [".git"]
    assert not any(b.changed_paths for b in runner.recorder.budgets[count:])
    with StoreReader(runner.store) as reader:
        assert reader.summarize_agents()[0]["sources"] == 1
