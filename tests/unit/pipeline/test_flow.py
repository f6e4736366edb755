"""Test the flow: which stages run when, what a unit costs, and adding a stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from leslied.app import App
from leslied.paths import get_paths, read_environ
from leslied.pipeline import (
    Budget,
    Flow,
    Ingest,
    Report,
    Stage,
    Timing,
    TranscriptStage,
)
from leslied.pipeline.failures import Failures
from leslied.sinks.leslie import parse_document
from leslied.store import Store
from tests.support.claude import (
    AFTER_STORE_CREATION,
    ClaudeHome,
    ClaudeLogBuilder,
)
from tests.support.clock import FakeClock
from tests.unit.pipeline.stages.test_relations import write_claim

NO_SCAN = Budget(changed_paths=())


class ToyReport(Report, kw_only=True):
    """The report of a toy stage."""

    bells: int = 0
    is_change: bool = False
    goes_back_to: str = ""
    event = "toy.ring"

    @property
    def counts(self) -> Mapping[str, int]:
        return {"bells": self.bells}

    @property
    def has_changes(self) -> bool:
        return self.is_change

    @property
    def restart_from(self) -> str:
        return self.goes_back_to


class ToyStage(Stage):
    """A stage that returns prepared reports, the last one again and again."""

    name = ""

    def __init__(
        self,
        name: str,
        runs: list[str],
        reports: list[ToyReport],
        timing: Timing = Timing.EVERY_RUN,
        *,
        is_broken: bool = False,
    ) -> None:
        self.name, self.runs, self.reports = name, runs, reports
        self.timing, self.is_broken = timing, is_broken

    def run(self, budget: Budget) -> ToyReport:
        self.runs.append(self.name)
        if self.is_broken:
            raise ZeroDivisionError
        return self.reports.pop(0) if len(self.reports) > 1 else self.reports[0]


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    with Store(tmp_path / "store.db", clock) as store:
        yield store


class ToyFlow:
    """Flow of toy stages that records which of them ran."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.runs: list[str] = []
        self.flow = Flow([], store, Failures(store, clock))

    def add(self, name: str, *reports: ToyReport, **options: Any) -> ToyStage:
        stage = ToyStage(name, self.runs, list(reports) or [ToyReport()], **options)
        self.flow.stages = [*self.flow.stages, stage]
        return stage

    def run(self, budget: Budget = NO_SCAN) -> list[str]:
        """Run the flow; return the names of the stages that ran."""
        self.runs.clear()
        self.flow.run(budget)
        return self.runs.copy()


@pytest.fixture
def toy_flow(store: Store, clock: FakeClock) -> ToyFlow:
    return ToyFlow(store, clock)


def test_a_scan_runs_all_stages_in_order(toy_flow: ToyFlow):
    for timing in reversed(Timing):
        toy_flow.add(timing.name, timing=timing)

    assert toy_flow.run(Budget()) == [timing.name for timing in reversed(Timing)]


def test_without_changes_only_stages_with_the_timing_every_run_are_run(
    toy_flow: ToyFlow,
):
    for timing in Timing:
        toy_flow.add(timing.name, timing=timing)

    assert toy_flow.run() == ["EVERY_RUN"]


def test_a_change_runs_the_stages_that_depend_on_it_the_slow_ones_later(
    toy_flow: ToyFlow,
):
    toy_flow.add("first", ToyReport(is_change=True), ToyReport())
    toy_flow.add("quick", timing=Timing.ON_CHANGE)
    toy_flow.add("slow", timing=Timing.WHEN_QUIET)
    toy_flow.add("slower", timing=Timing.WHEN_QUIET)
    toy_flow.add("archive", timing=Timing.AFTER_SCAN)

    runs = [toy_flow.run() for _ in range(4)]

    assert runs == [
        ["first", "quick"],
        ["first", "slow"],
        ["first", "slower"],
        ["first"],
    ]


def test_a_stage_with_work_left_runs_again(toy_flow: ToyFlow):
    toy_flow.add(
        "slow", ToyReport(has_more=True), ToyReport(), timing=Timing.AFTER_SCAN
    )

    assert [toy_flow.run(Budget()), toy_flow.run(), toy_flow.run()] == [
        ["slow"],
        ["slow"],
        [],
    ]


def test_the_flow_goes_back_to_an_earlier_stage_with_new_work(toy_flow: ToyFlow):
    toy_flow.add("read")
    toy_flow.add("write")
    toy_flow.add("move", ToyReport(goes_back_to="write"), ToyReport())
    toy_flow.add("list")

    assert toy_flow.run() == ["read", "write", "move", "write", "move", "list"]


def test_the_flow_does_not_go_back_for_ever(toy_flow: ToyFlow):
    toy_flow.add("write")
    toy_flow.add("move", ToyReport(goes_back_to="write"))

    assert toy_flow.run() == ["write", "move"] * 3


def test_a_broken_stage_does_not_stop_others_and_waits_before_it_is_tried_again(
    toy_flow: ToyFlow, clock: FakeClock
):
    toy_flow.add("broken", is_broken=True)
    toy_flow.add("sound")

    first, paused = toy_flow.run(), toy_flow.run()
    clock.advance(11)
    retried = toy_flow.run()
    clock.advance(11)
    paused_longer = toy_flow.run()

    assert (first, retried) == (["broken", "sound"], ["broken", "sound"])
    assert (paused, paused_longer) == (["sound"], ["sound"])
    assert toy_flow.flow.failures.count_attempts("stage", "broken") == 2


def test_reloaded_settings_do_not_put_stages_to_sleep(
    toy_flow: ToyFlow, store: Store, clock: FakeClock
):
    toy_flow.add("slow", ToyReport(has_more=True), timing=Timing.AFTER_SCAN)
    toy_flow.run(Budget())
    reloaded = ToyFlow(store, clock)
    reloaded.add("slow", timing=Timing.AFTER_SCAN)

    reloaded.flow.adopt(toy_flow.flow)

    assert reloaded.run() == ["slow"]


@pytest.fixture
def app(claude: ClaudeHome, clock: FakeClock) -> App:
    environ = read_environ()
    return App(environ, get_paths(environ), clock)


def test_a_finished_unit_costs_at_most_four_write_transactions(
    app: App, claude: ClaudeHome, clock: FakeClock, project: Path
):
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(builder.prompt("say hello"), builder.answer("Hello."))
    with Store(app.paths.store_file, clock) as store, app.open_reader() as reader:
        flow = app.make_flow(store, reader, is_daemon=True)
        flow.run(Budget())
        clock.advance(5)
        flow.run(Budget())
        before = store.write_transactions
        log = claude.write(
            builder.prompt("list files"),
            builder.call("Bash", {"command": "ls"}, "toolu_1"),
            builder.result("toolu_1", "a.txt"),
            builder.answer("There is one."),
        )
        flow.run(Budget(changed_paths=[log]))
        clock.advance(5)
        for _ in range(5):
            flow.run(NO_SCAN)
        cost = store.write_transactions - before
        flow.run(Budget())
        archived_cost = store.write_transactions - before

    assert len(list(project.rglob("*-list-files.txt"))) == 1
    assert cost <= 4
    assert archived_cost <= 4


def test_a_thread_that_leslie_claims_is_written_under_its_new_id_in_the_same_run(
    app: App, claude: ClaudeHome, clock: FakeClock, project: Path
):
    builder = ClaudeLogBuilder(cwd=str(project), started_at=AFTER_STORE_CREATION)
    claude.write(builder.prompt("one"), builder.answer("1"), builder.prompt("two"))
    with Store(app.paths.store_file, clock) as store, app.open_reader() as reader:
        flow = app.make_flow(store, reader)
        flow.select(Ingest, TranscriptStage).run(Budget())
        write_claim(project, "thread-leslie01")
        flow.run(Budget())

    (file,) = project.rglob("*-one.txt")
    assert file.is_relative_to(project / ".leslie" / "threads" / "thread-leslie01")
    assert parse_document(file.read_text()).thread_id == "thread-leslie01"


def test_no_stage_runs_after_a_request_to_stop(toy_flow: ToyFlow):
    for name in ("first", "second", "third"):
        toy_flow.add(name)

    runs = toy_flow.run(Budget(is_stopping=lambda: "second" in toy_flow.runs))

    assert runs == ["first", "second"]


def test_a_stage_that_can_wait_is_postponed_while_new_entries_wait(toy_flow: ToyFlow):
    toy_flow.add("ingest")
    toy_flow.add("index").can_wait = True
    busy = Budget(changed_paths=(), should_yield=lambda: True)

    assert toy_flow.run(busy) == ["ingest"]
    assert toy_flow.run() == ["ingest", "index"]


def test_a_stage_that_can_wait_runs_at_the_latest_after_ten_runs(toy_flow: ToyFlow):
    toy_flow.add("index").can_wait = True
    busy = Budget(changed_paths=(), should_yield=lambda: True)

    runs = [toy_flow.run(busy) for _ in range(22)]

    assert [number for number, names in enumerate(runs) if names] == [10, 21]


def test_only_stages_of_every_run_have_urgent_work(toy_flow: ToyFlow):
    toy_flow.add("slow", ToyReport(has_more=True), timing=Timing.WHEN_QUIET)
    toy_flow.run(Budget())
    was_urgent = toy_flow.flow.has_urgent_work
    toy_flow.add("ingest", ToyReport(has_more=True))
    toy_flow.run()

    assert not was_urgent
    assert toy_flow.flow.has_urgent_work
