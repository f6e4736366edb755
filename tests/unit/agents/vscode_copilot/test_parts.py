"""Parts of a response."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.agents._entry import LogEntry
from leslied.agents.vscode_copilot.parts import ResponseDecoder
from leslied.model.record import Record, SessionKey

LINE = LogEntry(key=SessionKey("vscode-copilot", "c"), native_id="r")


def decode(*parts: Any) -> list[Record]:
    return list(ResponseDecoder(LINE).decode(list(parts)))


def make_call(**fields: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolId": "t", **fields}


def test_things_of_the_window_do_not_split_a_text():
    (text,) = decode({"value": "a"}, {"kind": "undoStop"}, {"value": "b"})

    assert text.content == "ab"


def test_a_reference_without_a_name_is_named_after_its_file():
    reference = {"kind": "inlineReference", "inlineReference": {"fsPath": "/a/b.py"}}

    (text,) = decode(reference)

    assert text.content == "`b.py`"


def test_a_call_that_runs_has_no_result():
    (call,) = decode(make_call(isComplete=False))

    assert (call.type, call.tool_call_id) == ("tool_use", "r call 0")


@pytest.mark.parametrize(
    ("data", "tool_input"),
    [
        ({"kind": "terminal", "command": "ls"}, '{"command":"ls"}'),
        ({"kind": "input", "rawInput": {"a": 1}}, '{"a":1}'),
        ({"kind": "input"}, '{"description":"Doing"}'),
        ({"kind": "subagent", "prompt": "p"}, '{"prompt":"p"}'),
    ],
)
def test_arguments_are_where_the_tool_stores_them(data: Any, tool_input: str):
    call, _ = decode(make_call(toolSpecificData=data, invocationMessage="Doing"))

    assert call.tool_input == tool_input


def test_an_edit_has_a_result_when_it_is_done():
    edit = {"kind": "textEditGroup", "uri": {"path": "/a"}, "edits": [[{"text": "x"}]]}

    assert [r.type for r in decode(edit)] == ["tool_use"]
    assert [r.type for r in decode({**edit, "done": True})] == [
        "tool_use",
        "tool_result",
    ]
