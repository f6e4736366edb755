"""Updates of the Agent Client Protocol."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.agents import _acp_updates
from leslied.agents._entry import LogEntry
from leslied.model.record import SessionKey, Usage

ENTRY = LogEntry(key=SessionKey("agent", "s"), native_id="1", model="m")
TEXT = {"type": "text", "text": "a"}
DIFF = {"type": "diff", "path": "/a.txt", "oldText": "x", "newText": "y"}


def decode(
    update_kind: str, state: dict[str, Any] | None = None, **fields: Any
) -> _acp_updates.Decoded:
    return _acp_updates.decode_update(
        ENTRY, {"sessionUpdate": update_kind, **fields}, state or {}
    )


def make_content(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("user_message_chunk", "user_message"),
        ("agent_message_chunk", "assistant_message"),
        ("agent_thought_chunk", "thinking"),
    ],
)
def test_a_chunk_is_a_message(kind: str, type_: str):
    (record,) = decode(kind, content=TEXT).records

    assert (record.type, record.content) == (type_, "a")


def test_an_empty_chunk_has_no_record():
    assert decode("agent_message_chunk", content={"type": "text"}).records == []


def test_a_file_after_a_prompt_is_attached():
    state = decode("user_message_chunk", content=TEXT).state
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}

    (record,) = decode("user_message_chunk", state, content=link).records

    assert (record.metadata["note"], record.content) == ("attached", "[file file:///a]")


def test_a_picture_alone_is_a_prompt():
    image = {"type": "image", "mimeType": "image/png", "data": "aaaa"}

    (record,) = decode("user_message_chunk", content=image).records

    assert (record.type, record.content) == ("user_message", "[image image/png, 3 B]")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"_meta": {"x.ai/tool": {"name": "write"}}, "kind": "edit"}, "write"),
        ({"_meta": {"claudeCode": {"toolName": "Write"}}}, "Write"),
        ({"kind": "execute", "title": "Run"}, "execute"),
        ({"kind": "other", "title": "Run"}, "Run"),
        ({"_meta": 1}, ""),
    ],
)
def test_a_tool_has_a_name(fields: dict[str, Any], name: str):
    assert _acp_updates.find_tool_name(fields) == name


def test_a_call_may_come_with_its_result():
    contents = make_content("done")

    call, result = decode(
        "tool_call", toolCallId="c", status="completed", rawInput={}, content=contents
    ).records

    assert (call.tool_input, result.content) == ("{}", "done")
    assert call.block != result.block


def test_a_diff_is_the_arguments_of_an_edit():
    (call,) = decode("tool_call", toolCallId="c", content=[DIFF]).records

    assert call.tool_input == '{"path":"/a.txt","oldText":"x","newText":"y"}'


def test_later_arguments_replace_the_call():
    first = decode("tool_call", toolCallId="c", title="t", kind="read")

    update = {"toolCallId": "c", "rawInput": {"path": "/a"}}
    (call,) = decode("tool_call_update", first.state, **update).records

    assert (call.native_id, call.tool_name) == ("1", "read")
    assert call.tool_input == '{"path":"/a"}'


def test_the_state_keeps_only_calls_without_arguments():
    state = decode("tool_call", toolCallId="c", title="t").state

    assert list(state["calls"]) == ["c"]
    ended = decode("tool_call_update", state, toolCallId="c", status="failed")
    assert ended.state == {}


def test_the_state_keeps_few_calls_and_no_long_ids():
    state: dict[str, Any] = {}
    for number in range(20):
        state = decode("tool_call", state, toolCallId=f"c{number}").state
    state = decode("tool_call", state, toolCallId="c" * 101).state

    assert list(state["calls"]) == ["c14", "c15", "c16", "c17", "c18", "c19"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"content": make_content("a")}, "a"),
        ({"rawOutput": "b"}, "b"),
        ({"rawOutput": {"output": "c"}}, "c"),
        ({"rawOutput": {"n": 1}}, '{"n":1}'),
        ({"content": [DIFF]}, ""),
        ({"rawOutput": {"exit_code": 2, "output": "d"}}, "Exit code 2\nd"),
    ],
)
def test_a_result_has_a_text(fields: dict[str, Any], text: str):
    (result,) = decode("tool_call_update", status="completed", **fields).records

    assert result.content == text


def test_a_failed_call_has_an_error():
    (result,) = decode("tool_call_update", status="failed").records

    assert result.metadata == {"is_error": True}


def test_a_call_that_runs_has_no_result():
    assert decode("tool_call_update", status="in_progress").records == []


def test_a_plan_becomes_a_list_of_checkboxes():
    steps = [{"content": "a", "status": "completed"}, {"content": "b"}, 1]

    (record,) = decode("plan", entries=steps).records

    assert record.content == "- [x] a\n- [ ] b\n- [ ] "


def test_a_mode_and_a_title_are_events():
    (mode,) = decode("current_mode_update", currentModeId="plan").records
    (title,) = decode("session_info_update", title="t").records

    assert mode.metadata["permission_mode"] == "plan"
    assert (title.metadata["kind"], title.content) == ("title", "t")


@pytest.mark.parametrize(
    ("reason", "facts"),
    [
        ("end_turn", {"stop_reason": "end_turn", "reason": "end_turn"}),
        ("max_tokens", {"stop_reason": "max_tokens", "reason": "max_tokens"}),
        (
            "max_turn_requests",
            {"stop_reason": "unknown", "reason": "max_turn_requests"},
        ),
        ("cancelled", {"note": "interrupt"}),
    ],
)
def test_a_turn_ends_with_a_reason(reason: str, facts: dict[str, str]):
    event = _acp_updates.make_turn_end(ENTRY, reason)

    assert event.metadata == {"kind": "turn_ended", **facts}


def test_input_tokens_exclude_those_of_the_cache():
    usage = {"inputTokens": 10, "outputTokens": 1, "cachedReadTokens": 4}

    assert _acp_updates.parse_usage(usage) == Usage(6, 1, 4)


def test_input_tokens_are_never_negative():
    usage = _acp_updates.parse_usage({"inputTokens": 1, "cachedReadTokens": 4})

    assert usage.input_tokens == 0


def test_usage_that_is_not_an_object_is_empty():
    assert not _acp_updates.parse_usage("x")


def test_chunks_of_one_message_are_merged():
    def chunk(text: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
        return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}

    image = {"sessionUpdate": "agent_message_chunk", "content": {"type": "image"}}
    thought = chunk("t", "agent_thought_chunk")
    updates = [chunk("a"), chunk("b"), thought, chunk("c"), image, chunk("d")]

    assert list(_acp_updates.merge_chunks(updates)) == [
        chunk("ab"),
        thought,
        chunk("c"),
        image,
        chunk("d"),
    ]


def test_merging_no_updates_yields_no_update():
    assert list(_acp_updates.merge_chunks([])) == []
