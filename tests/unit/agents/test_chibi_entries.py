"""Entries of chibi's contexts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.errors import DecodeError
from tests.support.imports import decode_file, split_file

ARCHIVE, WINDOW = "ctx/transcript_archive.jsonl", "ctx/context.jsonl"


def make_entry(kind: str = "message", **fields: Any) -> dict[str, Any]:
    entry = {"id": "1", "timestamp": 1, "from": "a", "to": "ctx", "content": "x"}
    return {**entry, "entry_type": kind, **fields}


@pytest.mark.parametrize(
    ("fields", "type_"),
    [
        ({}, "user_message"),
        ({"from": "ctx", "to": "a"}, "assistant_message"),
        ({"to": "user"}, "assistant_message"),
        ({"role": "agent"}, "assistant_message"),
        ({"role": "user", "from": "ctx"}, "user_message"),
        ({"role": "system"}, "system_event"),
    ],
)
def test_role_or_sender_decide_the_type_of_a_message(
    fields: dict[str, Any], type_: str
):
    (record,) = decode_file("chibi", ARCHIVE, make_entry(**fields)).records

    assert record.type == type_


def test_a_result_without_an_id_answers_the_oldest_call_of_its_tool():
    state: dict[str, Any] = {}
    for id_, tool in (("c1", "read"), ("c2", "write"), ("c3", "read")):
        entry = make_entry("tool_call", id=id_, to=tool)
        state = decode_file("chibi", ARCHIVE, entry, **state).state
    result = make_entry("tool_result", **{"from": "read", "id": "r"})

    decoded = decode_file("chibi", ARCHIVE, result, **state)

    assert decoded.records[0].tool_call_id == "c1"
    assert [id_ for _, id_ in decoded.state["open"]] == ["c2", "c3"]


def test_a_window_of_the_later_form_is_noise():
    data = json.dumps(make_entry(role="user")).encode()

    decoded = decode_file("chibi", WINDOW, data)

    assert (decoded.records, decoded.noise) == ((), "window")


def test_a_last_line_that_is_being_written_is_not_read():
    data = json.dumps(make_entry()).encode() + b'\n{"id": "2", "ti'

    assert len(decode_file("chibi", WINDOW, data).records) == 1


def test_an_empty_window_is_rejected():
    with pytest.raises(DecodeError):
        decode_file("chibi", WINDOW, b"{")


@pytest.mark.parametrize(
    "name",
    ["context.jsonl", "transcript/active.jsonl", "transcript/partitions/1-2.jsonl"],
)
def test_a_log_is_kept_in_the_folder_of_its_context(name: str):
    copies = split_file("chibi", f"/home/.chibi/contexts/ctx/{name}", make_entry())

    assert list(copies) == [f"ctx/{name}"]


def test_a_file_of_another_name_is_not_a_log():
    assert split_file("chibi", "/x/ctx/other.jsonl", make_entry()) == {}
