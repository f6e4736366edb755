"""Pruning plans: sessions that match a rule and have no reason to stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from leslied.model.record import PlacedRecord
from leslied.model.session import SessionSummary
from leslied.sessions.assemble import RecordStream, assemble
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
    """Return a session that was last active this many days ago."""
    defaults = {
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
    return SessionSummary(**{**defaults, **fields})


SESSIONS = [make_session(days) for days in (1, 2, 3, 4)]
SESSION_KEYS = [("claude-code", f"s{days}") for days in (1, 2, 3, 4)]
SIZES = StorageSizes(
    store=70,
    archive=30,
    store_by_session=dict.fromkeys(SESSION_KEYS, 15),
    archive_by_session=dict.fromkeys(SESSION_KEYS, 5),
)


def list_ids(plan: PrunePlan) -> list[str]:
    return [candidate.session.key.session_id for candidate in plan.candidates]


def make_plan(policy: RetentionPolicy, keep: str = "") -> PrunePlan:
    """Plan to prune SESSIONS; the session with the id `keep` has a reason to stay."""

    def find_reason_to_keep(session: SessionSummary) -> str:
        return "failed" if session.key.session_id == keep else ""

    return plan_pruning(SESSIONS, policy, SIZES, find_reason_to_keep)


def test_sessions_last_active_before_a_time_are_pruned_oldest_first():
    plan = make_plan(RetentionPolicy(before=START_TIME - timedelta(days=2)))

    assert list_ids(plan) == ["s4", "s3"]
    assert plan.remaining_bytes == 60


def test_the_remaining_bytes_of_the_store_exclude_the_archive():
    plan = make_plan(RetentionPolicy(keep_newest=2))

    assert plan.remaining_bytes == 60
    assert SIZES.compute_remaining_store(plan.candidates) == 40


def test_all_but_the_most_recently_active_sessions_are_pruned():
    assert list_ids(make_plan(RetentionPolicy(keep_newest=1))) == ["s4", "s3", "s2"]


def test_nothing_is_pruned_if_there_are_fewer_sessions_than_to_keep():
    assert list_ids(make_plan(RetentionPolicy(keep_newest=9))) == []


@pytest.mark.parametrize(
    ("max_bytes", "count"), [(100, 0), (99, 1), (80, 1), (79, 2), (0, 4)]
)
def test_the_oldest_sessions_are_pruned_until_the_others_fit(
    max_bytes: int, count: int
):
    plan = make_plan(RetentionPolicy(max_bytes=max_bytes))

    assert list_ids(plan) == ["s4", "s3", "s2", "s1"][:count]


def test_one_matching_rule_prunes_a_session_and_all_matching_rules_are_reported():
    policy = RetentionPolicy(
        before=START_TIME - timedelta(days=3), keep_newest=2, max_bytes=90
    )
    plan = make_plan(policy)

    assert [(*c.reasons, c.size) for c in plan.candidates] == [
        ("old", "surplus", "size", 20),
        ("surplus", 20),
    ]


def test_a_session_with_a_reason_to_stay_is_kept_and_reported():
    plan = make_plan(RetentionPolicy(keep_newest=2), keep="s4")

    assert list_ids(plan) == ["s3"]
    assert plan.kept_by_reason == {"failed": [SESSIONS[3]]}


def test_another_session_is_pruned_instead_of_one_that_must_stay():
    assert list_ids(make_plan(RetentionPolicy(max_bytes=80), keep="s4")) == ["s3"]


def test_a_reason_to_keep_is_looked_up_only_for_matching_sessions():
    checked_ids: list[str] = []

    def find_reason_to_keep(session: SessionSummary) -> str:
        checked_ids.append(session.key.session_id)
        return ""

    plan_pruning(SESSIONS, RetentionPolicy(keep_newest=3), SIZES, find_reason_to_keep)

    assert checked_ids == ["s4"]


def test_a_session_without_times_is_as_old_as_its_first_reading():
    session_without_times = make_session(
        0, started_at=None, ended_at=None, seen_at=START_TIME - timedelta(days=9)
    )
    policy = RetentionPolicy(before=START_TIME - timedelta(days=5))

    assert (
        len(
            plan_pruning(
                [session_without_times], policy, SIZES, lambda _: ""
            ).candidates
        )
        == 1
    )


def is_failed_session(*records: Any) -> bool:
    """Return whether a session with these records has failed."""
    placed_records = [
        PlacedRecord(
            record=record,
            entry_id=str(number),
            sequence=number,
            unit=1,
            read_order=number,
            observed_at=START_TIME,
            decoder_version=1,
            path="",
            generation=1,
            offset=0,
            length=1,
        )
        for number, record in enumerate(records, 1)
    ]
    return has_failed(assemble(RecordStream(make_session(1), placed_records), [])[-1])


CALL = make_record(type="tool_use", tool_call_id="c")
RESULT = make_record(type="tool_result", role="tool", tool_call_id="c")
ANSWER = make_record(metadata={"stop_reason": "end_turn"})


@pytest.mark.parametrize(
    "records",
    [
        [make_prompt(), CALL],
        [make_prompt(), CALL, make_event("turn_ended")],
        [make_prompt(), make_record(type="error", role="assistant")],
        [make_prompt(), ANSWER, make_record(type="error", role="system")],
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
def test_a_session_with_an_error_or_an_unanswered_call_at_the_end_has_failed(
    records: list[Any],
):
    assert is_failed_session(*records)


@pytest.mark.parametrize(
    "records",
    [
        [make_prompt(), ANSWER],
        [make_prompt(), CALL, RESULT, ANSWER],
        [make_prompt(), make_record(type="error", role="system"), ANSWER],
        [make_prompt()],
        [make_prompt(), ANSWER, make_event("notice")],
    ],
    ids=[
        "answered",
        "with a call",
        "an error before the end",
        "no answer yet",
        "a notice",
    ],
)
def test_a_session_without_a_failure_at_the_end_has_not_failed(records: list[Any]):
    assert not is_failed_session(*records)
