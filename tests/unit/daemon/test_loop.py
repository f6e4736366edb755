"""Test the daemon's loop: failing stages are reported and retried, others run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leslied import pipeline
from leslied.app import App
from leslied.daemon import Loop, Notifier
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
from leslied.tail.watch import ChangeReport, Watcher
from tests.support.claude import (
    AFTER_STORE_CREATION,
    SESSION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.clock import FakeClock

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


def test_exports_run_although_relations_fail(
    daemon: LoopHarness,
    claude: ClaudeHome,
    builder: ClaudeLogBuilder,
    monkeypatch: pytest.MonkeyPatch,
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


def test_the_run_that_reads_the_stop_hook_writes_the_transcript(turn: TurnHarness):
    turn.end_turn()
    before = turn.transcripts()
    turn.call_stop_hook()

    assert before == []
    assert len(turn.transcripts()) == 1


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
    """Run two turns of the loop with other work; return how often it pinged."""
    loop = daemon.loop
    notifier = loop.notifier = RecordingNotifier()
    turns = iter([lambda: None, loop.stopping.set])

    def run(self: Loop) -> None:
        next(turns)()
        work()

    monkeypatch.setattr(Loop, "_scan", run)
    monkeypatch.setattr(Loop, "_handle_changes", run)
    loop.run()
    return notifier.pings


def test_a_turn_without_work_shows_that_the_daemon_is_healthy(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    assert run_twice(daemon, monkeypatch, lambda: None) == 2


def test_a_turn_that_fails_does_not_show_that_the_daemon_is_healthy(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    assert run_twice(daemon, monkeypatch, fail) == 0


def test_the_loop_ends_if_its_store_was_removed(daemon: LoopHarness):
    daemon.iterate(1)
    daemon.loop.flow.store.path.unlink()

    with pytest.raises(StoreLost):
        daemon.iterate(1)


def test_a_scan_that_is_requested_during_a_scan_is_not_forgotten(
    daemon: LoopHarness, monkeypatch: pytest.MonkeyPatch
):
    loop, scans = daemon.loop, []
    monkeypatch.setattr(
        Loop, "_run_flow", lambda *_: scans.append(1) or loop.request_scan()
    )

    loop._run_once()
    loop._run_once()

    assert len(scans) == 2
