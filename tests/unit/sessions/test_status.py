"""The status of a session, and when a unit can be settled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leslied.model.record import Record
from leslied.model.session import Activity, WaitingFor
from leslied.sessions.status import (
    SETTLE_AFTER,
    SETTLE_AFTER_ANNOUNCEMENT,
    STOPPED_AFTER,
    Waiting,
    compute_settle_delay,
    compute_status,
    decide_waiting,
    find_settle_time,
)
from tests.support.records import make_event, make_record
from tests.support.units import make_placed, make_summary

LAST = datetime(2026, 11, 16, 12, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)


def make_session(**fields):
    defaults = {"units": 2, "ended_at": LAST, "seen_at": LAST, "has_turn_ended": True}
    return make_summary(**{**defaults, **fields})


@pytest.mark.parametrize(
    ("fields", "after", "status"),
    [
        ({"has_turn_ended": False}, MOMENT, "active"),
        ({}, MOMENT, "idle"),
        ({"is_stopped": True}, MOMENT, "stopped"),
        ({}, STOPPED_AFTER + MOMENT, "stopped"),
        ({"is_live": True}, STOPPED_AFTER + MOMENT, "idle"),
        ({"is_live": True, "has_turn_ended": False}, 2 * STOPPED_AFTER, "active"),
        ({"started_at": None, "ended_at": None}, MOMENT, "stopped"),
        ({"subagent_active_at": LAST}, MOMENT, "active"),
        ({"subagent_active_at": LAST + STOPPED_AFTER}, 2 * STOPPED_AFTER, "active"),
        ({"subagent_active_at": LAST}, STOPPED_AFTER + MOMENT, "stopped"),
        ({"subagent_active_at": LAST, "is_stopped": True}, MOMENT, "stopped"),
    ],
)
def test_the_status_depends_on_turn_stop_silence_process_and_subagents(
    fields: dict, after: timedelta, status: str
):
    assert compute_status(make_session(**fields), LAST + after) == status


def test_a_unit_can_be_settled_when_the_next_prompt_came():
    session = make_session(has_turn_ended=False)

    assert find_settle_time(session, 1, LAST) == LAST
    assert find_settle_time(session, 2, LAST) is None


def test_a_unit_can_be_settled_some_seconds_after_its_turn_ended():
    session = make_session()

    assert find_settle_time(session, 2, LAST + MOMENT) == LAST + SETTLE_AFTER
    assert find_settle_time(session, 2, LAST, MOMENT) == LAST + MOMENT


def test_a_unit_whose_turn_goes_on_is_settled_only_when_the_session_stopped():
    session = make_session(has_turn_ended=False, is_live=True)

    assert find_settle_time(session, 2, LAST + 2 * STOPPED_AFTER) is None
    assert find_settle_time(make_session(is_stopped=True), 2, LAST) == LAST


ANSWER = make_record(created_at=LAST, metadata={"stop_reason": "end_turn"})
STOP_HOOKS = make_event("turn_ended", created_at=LAST + 2 * MOMENT)


@pytest.mark.parametrize(
    ("records", "delay"),
    [
        ([ANSWER, STOP_HOOKS], timedelta()),
        ([ANSWER, STOP_HOOKS, make_event("context")], timedelta()),
        ([ANSWER], SETTLE_AFTER_ANNOUNCEMENT),
        ([make_record(metadata={"stop_reason": "end_turn"})], SETTLE_AFTER),
        ([], SETTLE_AFTER),
    ],
    ids=["log has the end", "event after the end", "log has no end", "no time", "none"],
)
def test_after_an_announced_end_a_unit_waits_only_for_the_log(
    records: list[Record], delay: timedelta
):
    entries = [make_placed(record) for record in records]

    assert compute_settle_delay(entries, LAST + MOMENT) == delay


@pytest.mark.parametrize(
    "record",
    [
        make_record(created_at=LAST + 2 * MOMENT),
        make_event(
            "notice",
            created_at=LAST + 2 * MOMENT,
            metadata={"note": "stop_blocked"},
        ),
    ],
    ids=["answer", "feedback of a hook"],
)
def test_an_announced_end_is_void_when_the_agent_went_on(record: Record):
    entries = [make_placed(ANSWER), make_placed(record), make_placed(STOP_HOOKS)]

    assert compute_settle_delay(entries, LAST + MOMENT) == SETTLE_AFTER


PERMISSION = Waiting("permission", 100)


@pytest.mark.parametrize(
    ("stored", "last_entry_us", "activity", "question", "expected"),
    [
        pytest.param(Waiting(), 50, None, None, None, id="nothing asks"),
        pytest.param(PERMISSION, 100, None, None, "permission", id="it still waits"),
        pytest.param(PERMISSION, 101, None, None, None, id="the log went on"),
        pytest.param(
            Waiting(), 50, Activity("permission", 60), None, "permission", id="a dialog"
        ),
        pytest.param(
            Waiting(), 70, Activity("permission", 60), None, None, id="an old report"
        ),
        pytest.param(
            PERMISSION, 50, Activity("question", 110), None, "question", id="another"
        ),
        pytest.param(
            PERMISSION, 50, Activity("busy", 110), None, None, id="it was approved"
        ),
        pytest.param(
            PERMISSION, 50, Activity("busy", 90), None, "permission", id="busy before"
        ),
        pytest.param(
            PERMISSION, 50, Activity("idle", 110), None, None, id="it was declined"
        ),
        pytest.param(
            Waiting("prompt", 100),
            50,
            Activity("idle", 110),
            None,
            "prompt",
            id="idle at the prompt",
        ),
        pytest.param(
            Waiting(), 50, None, "question", "question", id="an open question"
        ),
        pytest.param(
            PERMISSION, 50, None, "question", "permission", id="a report is more exact"
        ),
    ],
)
def test_the_latest_report_or_an_open_question_decides_what_a_session_waits_for(
    stored: Waiting,
    last_entry_us: int,
    activity: Activity | None,
    question: WaitingFor | None,
    expected: WaitingFor | None,
):
    waiting = decide_waiting(
        stored, last_entry_us, activity, question, is_stopped=False
    )

    assert waiting.kind == expected
    unchanged = decide_waiting(
        waiting, last_entry_us, activity, question, is_stopped=False
    )
    assert unchanged == waiting


def test_a_stopped_session_waits_for_nothing():
    activity = Activity("question", 200)

    waiting = decide_waiting(PERMISSION, 0, activity, "question", is_stopped=True)

    assert waiting == Waiting()
