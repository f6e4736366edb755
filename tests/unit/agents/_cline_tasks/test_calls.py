"""Tool calls of a task."""

from __future__ import annotations

from typing import Any

from leslied.agents._cline_tasks.calls import decode_call, is_call, is_result
from leslied.agents._entry import LogEntry
from leslied.model.record import Record, SessionKey

LINE = LogEntry(key=SessionKey("roo-code", "t"), native_id="1")


def decode(message: dict[str, Any], *results: dict[str, Any]) -> list[Record]:
    return list(decode_call(LINE, message, list(results)))


def test_kinds_tell_calls_and_results_apart():
    assert is_call({"type": "ask", "ask": "tool"})
    assert is_call({"type": "say", "say": "command"})
    assert is_result({"type": "say", "say": "command_output"})
    assert not is_call({"type": "say", "ask": "tool"})
    assert not is_result({"type": "say", "say": ["command_output"]})


def test_a_call_that_is_not_complete_is_skipped():
    assert decode({"type": "ask", "ask": "command", "partial": True}) == []


def test_a_call_without_json_keeps_its_text():
    (call,) = decode({"type": "ask", "ask": "tool", "text": "{"})

    assert (call.tool_name, call.tool_input) == ("tool", '{"text":"{"}')


def test_results_are_joined():
    output = {"type": "say", "say": "command_output", "text": "a"}

    _, result = decode({"type": "ask", "ask": "command", "text": "ls"}, output, output)

    assert result.content == "a\na"
