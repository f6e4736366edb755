"""The JSON form says what is forgotten, and what is not reached."""

from __future__ import annotations

from dataclasses import replace

from leslied.queries.operations.forget_plan import (
    ForgetAnswer,
    ForgetRequest,
    ForgottenSession,
    Remainder,
)
from tests.support.units import make_summary

ANSWER = ForgetAnswer(
    request=ForgetRequest(text="a text"),
    sessions=(ForgottenSession(make_summary(), 2, False),),
    entries=2,
    remainders=(Remainder("log", "/home/dev/log.jsonl"),),
)


def test_a_dry_run_is_not_done():
    data = ANSWER.to_dict()

    assert data["done"] is False
    assert data["sessions"][0]["entries"] == 2
    assert data["unreachable"] == [{"kind": "log", "path": "/home/dev/log.jsonl"}]
    assert "records_removed" not in data
    assert "a text" not in str(data)


def test_a_deletion_has_the_number_of_records():
    answer = replace(ANSWER, removed_records=3)

    assert answer.is_done
    assert answer.to_dict()["records_removed"] == 3


def test_an_answer_without_entries_is_empty():
    assert ForgetAnswer(request=ForgetRequest(text="a text")).is_empty
    assert not ANSWER.is_empty
    assert not replace(ANSWER, entries=0, rejected=1).is_empty
