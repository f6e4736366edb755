"""Messages of ChatGPT's exports."""

from __future__ import annotations

from typing import Any

from tests.support.imports import decode_file, split_file, summarize


def make_node(id_: str, parent: str | None, *children: str, **message: Any):
    role = message.pop("role", "user")
    content = {"content_type": "text", "parts": [message.pop("text", id_)]}
    fields = {"author": {"role": role}, "content": content, **message}
    return {id_: {"id": id_, "parent": parent, "children": children, "message": fields}}


def make_conversation(*nodes: dict[str, Any], current: str = "") -> dict[str, Any]:
    mapping = {id_: node for each in nodes for id_, node in each.items()}
    return {"conversation_id": "c", "mapping": mapping, "current_node": current}


def decode(*nodes: dict[str, Any], current: str = ""):
    conversation = make_conversation(*nodes, current=current)
    return decode_file("chatgpt", "c.json", conversation).records[1:]


def test_each_conversation_of_an_export_is_kept():
    first, second = make_conversation(), {**make_conversation(), "conversation_id": "d"}

    copies = split_file("chatgpt", "/x/conversations.json", [first, second])

    assert list(copies) == ["c.json", "d.json"]


def test_the_current_branch_comes_last():
    records = decode(
        make_node("root", None, "new", "old", role="system"),
        make_node("new", "root"),
        make_node("old", "root"),
        current="new",
    )

    assert [r.native_id for r in records] == ["root", "old", "new"]
    assert [r.parent_id for r in records] == ["", "root", "root"]


def test_a_loop_of_nodes_ends():
    records = decode(make_node("a", None, "b"), make_node("b", "a", "a", "b", "x"))

    assert [r.native_id for r in records] == ["a", "b"]


def test_a_message_to_a_tool_is_a_call_and_the_next_one_its_result():
    records = decode(
        make_node("a", None, "b", role="assistant", recipient="python", text="1+1"),
        make_node("b", "a", role="tool", text="2"),
    )

    assert summarize(records) == [("tool_use", '{"input":"1+1"}'), ("tool_result", "2")]
    assert {r.tool_call_id for r in records} == {"a"}


def test_an_answer_of_full_length_ends_with_max_tokens():
    details = {"finish_details": {"type": "max_tokens"}}

    (record,) = decode(make_node("a", None, role="assistant", metadata=details))

    assert record.metadata == {"stop_reason": "max_tokens"}
