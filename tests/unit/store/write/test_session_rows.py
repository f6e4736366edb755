"""Session rows of a transaction: thread ids, and totals that are saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_key,
    make_prompt,
    make_record,
    time_at,
)

RANDOM_UUID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


@pytest.mark.fault("G8")
def test_sessions_with_a_common_prefix_have_different_threads(harness: StoreHarness):
    names = [
        RANDOM_UUID,
        RANDOM_UUID[:-1] + "6",
        "11111111-3333-4333-8444-555555555555",
    ]
    for name in names:
        harness.commit(make_prompt(name, name, session=make_key(name)), log=name)

    threads = [harness.session(name).thread_id for name in names]

    assert threads == [
        "thread-11111111",
        "thread-111111112222",
        "thread-111111113333",
    ]


@pytest.mark.fault("G8")
def test_a_third_session_with_a_common_prefix_uses_its_whole_id(harness: StoreHarness):
    names = [RANDOM_UUID, RANDOM_UUID[:-1] + "6", RANDOM_UUID[:-1] + "7"]
    for name in names:
        harness.commit(make_prompt(name, name, session=make_key(name)), log=name)

    assert harness.session(names[2]).thread_id == "thread-" + names[2].replace("-", "")


def test_a_thread_id_does_not_change(harness: StoreHarness):
    other = RANDOM_UUID[:-1] + "6"
    harness.commit(make_prompt("b", "b", session=make_key(other)), log="b")
    harness.commit(make_prompt("a", "a", session=make_key(RANDOM_UUID)), log="a")
    harness.commit(make_prompt("c", "c", session=make_key(other)), log="b")

    assert harness.session(other).thread_id == "thread-11111111"
    assert harness.session(RANDOM_UUID).thread_id == "thread-111111112222"


def test_a_subagent_has_no_thread(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", session=make_key(RANDOM_UUID, "subagent:x")))

    assert harness.session(RANDOM_UUID, "subagent:x").thread_id == ""


@pytest.mark.fault("F1")
def test_the_times_of_a_session_come_from_entries_with_a_time(harness: StoreHarness):
    harness.commit(make_prompt("a", "a", created_at=time_at(0)), make_record("b", "b"))

    assert harness.session().started_at == harness.session().ended_at == time_at(0)


def test_totals_continue_in_the_next_transaction(harness: StoreHarness):
    harness.commit(make_prompt("first", "a"))
    harness.commit(make_prompt("second", "b"))

    assert (harness.session().units, harness.session().title) == (2, "first")
