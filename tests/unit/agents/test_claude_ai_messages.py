"""Messages of Claude.ai's exports."""

from __future__ import annotations

from typing import Any

from tests.support.imports import decode_file, split_file, summarize


def make_message(sender: str, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"uuid": sender, "sender": sender, "content": parts, **fields}


def decode(*messages: dict[str, Any]):
    conversation = {"uuid": "c", "chat_messages": messages}
    return decode_file("claude-ai", "c.json", conversation).records[1:]


def test_each_conversation_of_an_export_is_kept():
    export = [{"uuid": "a", "chat_messages": []}, {"uuid": "b", "chat_messages": []}]

    copies = split_file("claude-ai", "/x/conversations.json", export)

    assert copies["b.json"] == b'{"uuid": "b", "chat_messages": []}'


def test_a_pasted_text_is_a_part_of_the_prompt():
    attachment = {"file_name": "", "extracted_content": "pasted"}

    (record,) = decode(make_message("human", text="Look", attachments=[attachment]))

    assert record.content == "Look\n\n[file pasted text]\npasted"


def test_a_result_without_an_id_belongs_to_the_call_before_it():
    records = decode(
        make_message(
            "assistant",
            {"type": "tool_use", "name": "f", "input": {}},
            {"type": "tool_result", "content": "x"},
        )
    )

    assert {r.tool_call_id for r in records[:2]} == {"assistant:0"}


def test_a_part_of_an_unknown_type_is_kept():
    records = decode(make_message("assistant", {"type": "voice_note"}))

    assert summarize(records)[0] == ("unknown", '{"type":"voice_note"}')


def test_the_last_text_before_a_prompt_ends_the_turn():
    text = {"type": "text", "text": "a"}

    records = decode(make_message("assistant", text, text), make_message("human"))

    assert [r.metadata.get("stop_reason") for r in records] == [None, "end_turn", None]
