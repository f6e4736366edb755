"""The status of a session, and whether a unit is finished."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leslied.sessions.status import (
    SETTLE_AFTER,
    STOPPED_AFTER,
    compute_status,
    is_unit_finished,
)
from tests.support.units import make_summary

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
    ],
)
def test_the_status_depends_on_turn_stop_silence_and_process(
    fields: dict, after: timedelta, status: str
):
    assert compute_status(make_session(**fields), LAST + after) == status


def test_a_unit_is_finished_when_the_next_prompt_came():
    session = make_session(has_turn_ended=False)

    assert is_unit_finished(session, 1, LAST)
    assert not is_unit_finished(session, 2, LAST)


def test_a_unit_is_finished_some_seconds_after_its_turn_ended():
    session = make_session()

    assert not is_unit_finished(session, 2, LAST + SETTLE_AFTER - MOMENT)
    assert is_unit_finished(session, 2, LAST + SETTLE_AFTER)


def test_a_unit_whose_turn_goes_on_is_finished_only_when_the_session_stopped():
    session = make_session(has_turn_ended=False, is_live=True)

    assert not is_unit_finished(session, 2, LAST + 2 * STOPPED_AFTER)
    assert is_unit_finished(make_session(is_stopped=True), 2, LAST)
