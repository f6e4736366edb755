"""Lines of Kiro's sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents._kiro_lines import decode_line
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

PROMPT = {"kind": "Prompt", "data": {"content": [{"kind": "text", "data": "hi"}]}}


def decode(value: Any, path: str = "cli/s.jsonl", **state: Any) -> DecodeResult:
    source = SourceRef(
        agent="kiro",
        path=Path("/k") / path,
        root=Path("/k"),
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    return decode_line(RawEntry(source, 0, json.dumps(value).encode()), state)


def test_a_line_without_an_id_is_named_after_its_number():
    (prompt,) = decode(PROMPT, number=4).records

    # The state counts the lines before this one.
    assert prompt.native_id == "line 5"


@pytest.mark.parametrize("text", ["", "{", '{"cwd": 1}', '{"cwd": "/a\\q"}'])
def test_odd_metadata_names_no_folder(text: str):
    assert decode(PROMPT, beside=text).cwd == ""


def test_metadata_that_was_cut_has_what_it_begins_with():
    decoded = decode(PROMPT, beside='{"cwd": "/a", "title": "T", "session_state": {')

    assert decoded.cwd == "/a"
    assert [r.content for r in decoded.records] == ["", "T", "hi"]


def test_a_session_of_the_third_engine_is_named_after_its_folder():
    value = {"payload": {"type": "user", "content": "hi"}}

    (prompt,) = decode(value, "w/sess_1/messages.jsonl").records

    assert prompt.session.session_id == "1"
