"""Lines of Cursor's transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leslied.agents._cursor_lines import decode_line
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef


def decode(value: dict[str, Any], path: str = "s.jsonl", **state: Any) -> DecodeResult:
    source = SourceRef(
        agent="cursor",
        path=Path("/p") / path,
        root=Path("/p"),
        shape=Shape.APPEND_LOG,
        stamp=FileStamp(0, 0, 0, 0, 0),
    )
    return decode_line(RawEntry(source, 0, json.dumps(value).encode()), state)


def test_messages_are_numbered():
    decoded = decode({"role": "user", "message": {"content": "hi"}}, number=4)

    assert decoded.records[0].native_id == "5"
    assert decoded.state["number"] == 5


def test_the_end_of_a_turn_has_the_number_of_the_message_before_it():
    decoded = decode({"type": "turn_ended", "status": "success"}, number=4)

    assert decoded.records[0].native_id == "end 4"
    assert decoded.state["number"] == 4


def test_the_first_line_has_the_folder_of_the_marker():
    marker = json.dumps({"workspacePath": "/home/dev/app"})

    decoded = decode({"role": "user", "message": {"content": "hi"}}, beside=marker)

    assert decoded.cwd == "/home/dev/app"
    assert "beside" not in decoded.state


def test_a_damaged_marker_names_no_folder():
    value = {"role": "user", "message": {"content": "hi"}}

    assert decode(value, beside="{").cwd == ""
    assert decode(value, beside='{"workspacePath": 1}').cwd == ""


def test_a_subagent_is_named_after_its_file_and_its_folder():
    value = {"role": "user", "message": {"content": "hi"}}

    (link, task) = decode(value, "main/subagents/child.jsonl").records

    assert task.session == ("cursor", "main", "subagent:child")
    assert link.metadata["kind"] == "subagent_linked"
