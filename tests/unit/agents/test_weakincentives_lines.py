"""Entries of weakincentives."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.agents._weakincentives_lines import find_identity
from tests.support.imports import decode_file

NAME = "s/transcript.jsonl"
ENTRY = {"role": "user", "content": "Hi", "created_at": "2026-11-01T09:00:00+00:00"}


def decode(**fields: Any):
    return decode_file("weakincentives", NAME, {**ENTRY, **fields})


@pytest.mark.parametrize(
    ("fields", "type_"),
    [
        ({"role": "user"}, "user_message"),
        ({"role": "assistant"}, "assistant_message"),
        ({"role": "assistant", "tool_input": {}}, "tool_use"),
        ({"role": "tool"}, "tool_result"),
        ({"role": "system"}, "system_event"),
        ({"role": "critic"}, "unknown"),
    ],
)
def test_the_role_decides_the_type(fields: dict[str, Any], type_: str):
    (record,) = decode(**fields).records

    assert record.type == type_


def test_a_type_in_the_metadata_comes_first():
    (record,) = decode(role="assistant", metadata={"entry_type": "thinking"}).records

    assert record.type == "thinking"


def test_the_first_entry_names_a_session_without_a_name():
    first = decode(entry_id="e1")
    second = decode_file(
        "weakincentives", NAME, {**ENTRY, "entry_id": "e2"}, **first.state
    )

    assert [r.session.session_id for r in (*first.records, *second.records)] == [
        "e1"
    ] * 2


def test_an_observed_time_is_not_a_time_of_the_log():
    (record,) = decode(metadata={"is_time_observed": True}).records

    assert record.created_at is None


def test_an_entry_without_an_id_is_identified_by_its_form():
    assert find_identity(ENTRY) == "slice"
    assert find_identity({"entry_type": "x", "sequence_number": 1}) == "bundle"
    assert find_identity({"role": "user", "content": "x"}) == ""
