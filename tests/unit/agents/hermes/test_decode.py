"""Messages, tokens and ends of Hermes' sessions, decoded one at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.hermes.decode import decode_entry
from leslied.errors import DecodeError
from leslied.model.record import Record, Usage
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="hermes",
    path=Path("/h/state.db"),
    root=Path("/h"),
    shape=Shape.SQLITE,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(kind: str, session: Any = None, **fields: Any) -> tuple[Record, ...]:
    value = {"kind": kind, "session": session or {"id": "s1"}, **fields}
    return decode_entry(RawEntry(SOURCE, 0, json.dumps(value).encode()), {}).records


def decode_result(content: str) -> Record:
    (record,) = decode("message", role="tool", content=content, tool_name="terminal")
    return record


def link(task: str, *arguments: Any) -> dict[str, Any]:
    """Return the facts of a subagent's link to calls with these arguments."""
    calls = [
        {"id": f"c{n}", "function": {"name": "delegate_task", "arguments": each}}
        for n, each in enumerate(map(json.dumps, arguments))
    ]
    session = {"id": "s2", "root": "s1", "parent": "s1", "task": task, "calls": calls}
    return dict(decode("end", session)[0].metadata)


def test_a_subagent_is_linked_to_the_call_with_its_goal():
    assert link("Count", {"goal": "Look"}, {"goal": "Count"})["tool_call_id"] == "c1"


def test_a_call_may_have_several_tasks():
    tasks = {"tasks": [{"goal": "Look"}, {"goal": "Count"}]}

    assert link("Count", tasks)["tool_call_id"] == "c0"


@pytest.mark.parametrize("arguments", [[{"goal": "Count"}] * 2, [{"goal": "Look"}], []])
def test_a_call_that_is_not_certain_is_not_linked(arguments: list[Any]):
    assert "tool_call_id" not in link("Count", *arguments)


def test_a_command_has_its_output_and_exit_code():
    record = decode_result('{"output": "err", "exit_code": 2, "error": null}')

    assert record.content == "Exit code 2\nerr"
    assert record.metadata == {"exit_code": 2, "is_error": True}


@pytest.mark.parametrize("content", ['{"error": "no"}', '{"success": false}'])
def test_a_result_with_an_error_is_one(content: str):
    assert decode_result(content).metadata == {"is_error": True}


def test_a_result_that_is_not_json_is_stored_as_it_is():
    assert decode_result("plain").content == "plain"


def test_calls_that_are_not_json_are_stored_unchanged():
    records = decode("message", role="assistant", content="", tool_calls="[broken")

    assert [(r.type, r.content) for r in records] == [("unknown", "[broken")]


def test_an_empty_prompt_is_no_prompt():
    records = decode("message", role="user", content="")

    assert [r.type for r in records] == ["system_event"]


def test_a_part_that_is_not_text_is_a_placeholder_or_its_address():
    parts = [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    content = "\0json:" + json.dumps(parts)

    (_, prompt) = decode("message", role="user", content=content)

    assert prompt.content == "https://x/y.png"


def test_tokens_of_a_model_have_an_id_that_stays_the_same():
    first, second = (
        decode("usage", model="large", input=count, cache_read=1)[0] for count in (5, 9)
    )

    assert second.usage == Usage(9, 0, 1)
    assert (first.native_id, first.message_id) == (second.native_id, second.message_id)


def test_a_session_that_is_resumed_ends_again():
    ends = {decode("end", {"id": "s1", "ended": at})[0].native_id for at in (1.5, 2.5)}

    assert len(ends) == 2


def test_an_entry_without_a_session_is_rejected():
    with pytest.raises(DecodeError, match="without a session"):
        decode("end", {"title": "x"})


def test_an_entry_of_an_unknown_kind_is_stored_unchanged():
    assert [record.type for record in decode("hologram")] == ["unknown"]
