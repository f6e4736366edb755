"""Test that failed work is recorded, paused and retried, and stops no other work."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.pipeline.failures import KILLED_REASON, Failures
from leslied.pipeline.work_marker import WorkMarker
from leslied.store import Store, StoreReader
from tests.support.clock import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path, clock: FakeClock):
    with Store(path, clock) as store:
        yield store


def fail() -> None:
    raise ZeroDivisionError("session text")


def test_a_failure_is_recorded_for_status(store: Store, path: Path, clock: FakeClock):
    errors: dict[str, str] = {}

    assert not Failures(store, clock).attempt("stage", "exports", fail, errors)

    with StoreReader(path) as reader:
        (failure,) = reader.list_failures()
    assert failure[:2] == ("stage", "exports")
    assert failure.reason == errors["exports"]
    assert failure.attempts == 1
    assert failure.retry_at > clock.now()


def test_failed_work_is_skipped_while_its_pause_lasts(clock: FakeClock):
    failures = Failures(clock=clock)
    calls: list[int] = []
    failures.attempt("stage", "exports", fail, {})

    assert not failures.attempt("stage", "exports", lambda: calls.append(1), {})
    assert calls == []


def test_the_pause_grows_with_every_attempt_up_to_an_hour(clock: FakeClock):
    failures = Failures(clock=clock)
    pauses: list[float] = []

    for _ in range(8):
        failures.attempt("stage", "exports", fail, {})
        began = clock.now()
        while failures.is_paused("stage", "exports"):
            clock.advance(1)
        pauses.append((clock.now() - began).total_seconds())

    assert pauses == [10, 40, 160, 640, 2560, 3600, 3600, 3600]


def test_success_clears_the_failure(store: Store, path: Path, clock: FakeClock):
    failures = Failures(store, clock)
    failures.attempt("stage", "exports", fail, {})
    clock.advance(11)

    assert failures.attempt("stage", "exports", lambda: None, {})

    with StoreReader(path) as reader:
        assert reader.list_failures() == []


def test_a_restart_keeps_the_pause(store: Store, clock: FakeClock):
    Failures(store, clock).attempt("stage", "exports", fail, {})

    assert Failures(store, clock).is_paused("stage", "exports")


def test_a_command_run_by_a_person_ignores_pauses(store: Store, clock: FakeClock):
    Failures(store, clock).attempt("stage", "exports", fail, {})

    assert not Failures(store, clock, ignores_pauses=True).is_paused("stage", "exports")


def test_the_error_for_an_unusable_store_is_raised(clock: FakeClock):
    def work() -> None:
        raise StoreUnusable("The disk is full.")

    with pytest.raises(StoreUnusable):
        Failures(clock=clock).attempt("stage", "exports", work, {})


def test_a_name_that_is_not_utf8_is_recorded(store: Store, clock: FakeClock):
    failures = Failures(store, clock)

    failures.record("source", "/home/\udcff.jsonl", "no reason")

    assert Failures(store, clock).is_paused("source", "/home/\udcff.jsonl")


def test_a_reason_names_the_line_of_leslied_that_failed():
    errors: dict[str, str] = {}
    broken = Failures(clock=None)  # type: ignore[arg-type]

    Failures().attempt("stage", "x", lambda: broken.record("", "", ""), errors)

    assert errors["x"].startswith("unexpected AttributeError at pipeline/failures.py:")


class DyingProcess:
    """Starts leslied's failures again and again, as after a kill."""

    def __init__(self, store: Store, clock: FakeClock, marker: Path) -> None:
        self.store, self.clock, self.marker = store, clock, marker

    def start(self) -> Failures:
        return Failures(self.store, self.clock, marker=WorkMarker(self.marker))

    def die(self, name: str = "/a.jsonl") -> None:
        """Start, begin to read a source, and do not end."""
        self.start().begin_work("source", name)


@pytest.fixture
def dying_process(store: Store, clock: FakeClock, tmp_path: Path) -> DyingProcess:
    return DyingProcess(store, clock, tmp_path / "in-progress")


def test_one_death_does_not_pause_the_work(dying_process: DyingProcess):
    dying_process.die()

    failures = dying_process.start()

    assert failures.count_attempts("source", "/a.jsonl") == 1
    assert not failures.is_paused("source", "/a.jsonl")


def test_a_death_after_an_ordinary_failure_does_not_pause_the_work(
    dying_process: DyingProcess, clock: FakeClock
):
    dying_process.start().record("source", "/a.jsonl", "no reason")
    dying_process.die()

    assert not dying_process.start().is_paused("source", "/a.jsonl")


@pytest.mark.fault("E15")
def test_a_second_death_puts_the_work_in_quarantine_also_after_restarts(
    dying_process: DyingProcess, path: Path
):
    dying_process.die()
    dying_process.die()

    paused = [dying_process.start().is_paused("source", "/a.jsonl") for _ in range(3)]

    assert paused == [True] * 3
    assert not dying_process.start().is_paused("source", "/b.jsonl")
    with StoreReader(path) as reader:
        (failure,) = reader.list_failures()
    assert (failure.name, failure.reason) == ("/a.jsonl", KILLED_REASON)


@pytest.mark.fault("E15")
def test_a_quarantine_ends_after_ten_minutes_and_grows_with_every_death(
    dying_process: DyingProcess, clock: FakeClock
):
    hours: list[float] = []
    dying_process.die()
    for _ in range(6):
        dying_process.die()
        began = clock.now()
        while dying_process.start().is_paused("source", "/a.jsonl"):
            clock.advance(600)
        hours.append((clock.now() - began).total_seconds() / 3600)

    assert hours[:2] == pytest.approx([1 / 6, 4 / 6])
    assert hours[-1] == 24


def test_work_that_ends_is_no_death(dying_process: DyingProcess):
    failures = dying_process.start()
    failures.begin_work("source", "/a.jsonl")
    failures.end_work()

    assert dying_process.start().count_attempts("source", "/a.jsonl") == 0


def test_a_command_tries_work_in_quarantine_at_once(
    dying_process: DyingProcess, store: Store, clock: FakeClock
):
    dying_process.die()
    dying_process.die()
    dying_process.start()

    assert not Failures(store, clock, ignores_pauses=True).is_paused(
        "source", "/a.jsonl"
    )
