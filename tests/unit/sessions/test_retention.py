"""Who goes: everyone that any criterion names, and nobody with a reason to stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from leslied.model.record import PlacedRecord
from leslied.model.session import SessionSummary
from leslied.sessions import RecordStream, assemble
from leslied.sessions.retention import (
    PrunePlan,
    RetentionPolicy,
    StorageSizes,
    has_failed,
    plan_pruning,
)
from tests.support.records import (
    START_TIME,
    make_event,
    make_key,
    make_prompt,
    make_record,
)


def make_session(days: int, **fields: Any) -> SessionSummary:
    """A session that was last active so many days ago."""
    known = {
        "row": days,
        "key": make_key(f"s{days}"),
        "thread_id": "",
        "title": "",
        "cwd": "",
        "model": "",
        "started_at": START_TIME - timedelta(days=days),
        "ended_at": START_TIME - timedelta(days=days),
        "units": 1,
        "tool_calls": 0,
        "has_turn_ended": True,
        "is_stopped": True,
    }
    return SessionSummary(**{**known, **fields})


SESSIONS = [make_session(days) for days in (1, 2, 3, 4)]
NAMES = [("claude-code", f"s{days}") for days in (1, 2, 3, 4)]
SIZES = StorageSizes(
    store=70,
    archive=30,
    store_by_session=dict.fromkeys(NAMES, 15),
    archive_by_session=dict.fromkeys(NAMES, 5),
)


def ids(choice: PrunePlan) -> list[str]:
    return [going.session.key.session_id for going in choice.candidates]


def decide(policy: RetentionPolicy, stays: str = "") -> PrunePlan:
    def why_stays(session: SessionSummary) -> str:
        return "failed" if session.key.session_id == stays else ""

    return plan_pruning(SESSIONS, policy, SIZES, why_stays)


def test_what_was_last_active_before_the_moment_goes_the_oldest_first():
    choice = decide(RetentionPolicy(before=START_TIME - timedelta(days=2)))

    assert ids(choice) == ["s4", "s3"]
    assert choice.remaining_bytes == 60


def test_of_the_store_less_is_left_than_of_store_and_archive():
    choice = decide(RetentionPolicy(keep_newest=2))

    assert choice.remaining_bytes == 60
    assert SIZES.compute_remaining_store(choice.candidates) == 40


def test_all_but_the_last_active_go():
    assert ids(decide(RetentionPolicy(keep_newest=1))) == ["s4", "s3", "s2"]


def test_more_than_there_are_can_be_kept():
    assert ids(decide(RetentionPolicy(keep_newest=9))) == []


@pytest.mark.parametrize(
    ("most", "going"), [(100, 0), (99, 1), (80, 1), (79, 2), (0, 4)]
)
def test_the_oldest_go_until_the_rest_fits(most: int, going: int):
    assert (
        ids(decide(RetentionPolicy(max_bytes=most))) == ["s4", "s3", "s2", "s1"][:going]
    )


def test_any_criterion_is_enough_and_each_is_told():
    policy = RetentionPolicy(
        before=START_TIME - timedelta(days=3), keep_newest=2, max_bytes=90
    )
    choice = decide(policy)

    assert [(*going.reasons, going.size) for going in choice.candidates] == [
        ("old", "surplus", "size", 20),
        ("surplus", 20),
    ]


def test_who_has_a_reason_to_stay_stays_and_is_told():
    choice = decide(RetentionPolicy(keep_newest=2), stays="s4")

    assert ids(choice) == ["s3"]
    assert choice.kept_by_reason == {"failed": [SESSIONS[3]]}


def test_another_goes_for_one_that_must_stay_where_room_is_wanted():
    assert ids(decide(RetentionPolicy(max_bytes=80), stays="s4")) == ["s3"]


def test_nobody_is_asked_who_was_not_named():
    asked: list[str] = []

    def why_stays(session: SessionSummary) -> str:
        asked.append(session.key.session_id)
        return ""

    plan_pruning(SESSIONS, RetentionPolicy(keep_newest=3), SIZES, why_stays)

    assert asked == ["s4"]


def test_a_session_that_tells_no_time_is_as_old_as_its_reading():
    silent = make_session(
        0, started_at=None, ended_at=None, seen_at=START_TIME - timedelta(days=9)
    )
    policy = RetentionPolicy(before=START_TIME - timedelta(days=5))

    assert len(plan_pruning([silent], policy, SIZES, lambda _: "").candidates) == 1


def check_failed(*records: Any) -> bool:
    placed = [
        PlacedRecord(
            record=record,
            entry_id=str(number),
            sequence=number,
            unit=1,
            placement=number,
            observed_at=START_TIME,
            decoder_version=1,
            path="",
            generation=1,
            offset=0,
            length=1,
        )
        for number, record in enumerate(records, 1)
    ]
    return has_failed(assemble(RecordStream(make_session(1), placed), [])[-1])


CALL = make_record(type="tool_use", tool_call_id="c")
RESULT = make_record(type="tool_result", role="tool", tool_call_id="c")
DONE = make_record(metadata={"stop_reason": "end_turn"})


@pytest.mark.parametrize(
    "records",
    [
        [make_prompt(), CALL],
        [make_prompt(), CALL, make_event("turn_ended")],
        [make_prompt(), make_record(type="error", role="assistant")],
        [make_prompt(), DONE, make_record(type="error", role="system")],
        [make_prompt(), make_record(metadata={"note": "interrupt"})],
    ],
    ids=[
        "unanswered",
        "unanswered, turn over",
        "error",
        "error at the end",
        "interrupt",
    ],
)
def test_these_ended_badly(records: list[Any]):
    assert check_failed(*records)


@pytest.mark.parametrize(
    "records",
    [
        [make_prompt(), DONE],
        [make_prompt(), CALL, RESULT, DONE],
        [make_prompt(), make_record(type="error", role="system"), DONE],
        [make_prompt()],
        [make_prompt(), DONE, make_event("notice")],
    ],
    ids=["answered", "with a call", "an error on the way", "no answer yet", "a notice"],
)
def test_these_did_not(records: list[Any]):
    assert not check_failed(*records)
