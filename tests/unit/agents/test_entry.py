"""The records of a log entry, and lenient access to its fields."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.agents._entry import (
    MAX_FOLDER_LENGTH,
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    format_attachment,
)
from leslied.model.record import SessionKey, Usage

MAIN = SessionKey("goose", "s1")
CHILD = SessionKey("goose", "s1", "subagent:s2")


ENTRY = LogEntry(
    key=SessionKey("agent", "s"), native_id="1", created_at=None, parent_id="0"
)


def make_entry(key: SessionKey = MAIN) -> LogEntry:
    return LogEntry(key=key, native_id="m1", scope="s1", model="large")


@pytest.mark.parametrize(
    ("key", "origin", "expected"),
    [(MAIN, "", "prompt"), (CHILD, "", "task"), (MAIN, "command", "command")],
)
def test_a_prompt_of_a_subagent_is_its_task(
    key: SessionKey, origin: str, expected: str
):
    record = make_entry(key).make_prompt("Count", origin=origin)

    assert record.metadata == {"origin": expected}


def test_records_of_an_entry_share_its_id_and_differ_in_their_blocks():
    entry = make_entry()

    records = [
        entry.make_thinking("Hm."),
        entry.make_answer("Yes.", block=1),
        entry.make_call("shell", "c1", {"command": "ls"}, block=2),
        entry.make_result("shell", "c1", "a.py", block=3),
        entry.make_usage(Usage(1, 2), "r1", block=4),
    ]

    assert {(r.native_id, r.scope) for r in records} == {("m1", "s1")}
    assert [r.block for r in records] == [0, 1, 2, 3, 4]
    assert [r.model for r in records] == ["large", "large", "large", "", "large"]


def test_only_an_answer_with_a_stop_reason_ends_the_turn():
    entry = make_entry()

    answers = [
        entry.make_answer("Yes.", stop_reason=reason) for reason in ("", "end_turn")
    ]

    assert [a.metadata for a in answers] == [{}, {"stop_reason": "end_turn"}]


@pytest.mark.parametrize("arguments", [{"a": 1}, '{"a":1}'])
def test_arguments_are_json_text(arguments: Any):
    assert make_entry().make_call("x", "c", arguments).tool_input == '{"a":1}'


@pytest.mark.parametrize(
    ("value", "text"),
    [("raw", "raw"), (b"\xffraw", "\ufffdraw"), ({"a": 1}, '{"a":1}')],
)
def test_something_unknown_is_stored_as_it_is(value: Any, text: str):
    record = make_entry().make_unknown(value, role="narrator")

    assert (record.type, record.content) == ("unknown", text)
    assert record.metadata == {"role": "narrator"}


def test_a_record_has_the_ids_of_its_entry():
    record = ENTRY.make_record("user_message", "user", content="Hi")

    assert (record.native_id, record.parent_id, record.content) == ("1", "0", "Hi")


def test_an_event_has_only_facts_that_are_not_empty():
    event = ENTRY.make_event("context", "text", block=2, note="", model=None, turns=0)

    assert event.metadata == {"kind": "context", "turns": 0}
    assert (event.content, event.block) == ("text", 2)


def test_a_value_of_another_type_is_empty():
    assert (as_text(1), as_dict([]), as_list({})) == ("", {}, [])


@pytest.mark.parametrize(
    ("value", "count"),
    [(3, 3), (2.0, 2), (True, 0), ("3", 0), (-1, 0), (2**60, 0), (float("nan"), 0)],
)
def test_only_a_plausible_number_is_a_count(value: object, count: int):
    assert as_count(value) == count


def test_a_folder_that_is_too_long_is_ignored():
    path = "/" + "x" * MAX_FOLDER_LENGTH

    assert (as_folder("/app"), as_folder(path)) == ("/app", "")


def test_an_attachment_is_shown_by_its_type_and_size():
    assert format_attachment("image", None, "AAAA" * 500) == "[image data, 2 KB]"
