"""Entries of the history of Mistral Vibe, decoded one at a time."""

from __future__ import annotations

from typing import Any

from leslied.agents._entry import LogEntry
from leslied.agents.vibe.history import decode_item, join_texts
from leslied.model.record import Record, SessionKey

ABOUT = LogEntry(key=SessionKey("vibe", "s1"), native_id="")


def decode(type_: str, **item: Any) -> list[Record]:
    return list(decode_item(ABOUT, {"type": type_, "id": "i1", **item}))


def decode_result(**state: Any) -> Record:
    _, result = decode("effect", detail={"toolName": "t"}, state=state)
    return result


def test_an_answer_that_is_being_written_is_left_out():
    item = {"role": "assistant", "content": [{"type": "text", "text": "I lo"}]}

    assert decode("message", generationStatus="in_progress", **item) == []


def test_a_running_call_has_no_result():
    (call,) = decode(
        "effect",
        generationStatus="in_progress",
        detail={"toolName": "file_system.bash", "input": {"command": "ls"}},
        state={"status": "running"},
    )

    assert (call.type, call.tool_call_id) == ("tool_use", "i1")
    assert call.tool_input == '{"command":"ls"}'


def test_the_output_of_a_command_is_its_result():
    structured = {"returncode": 2, "stdout": "out\n", "stderr": "err\n"}

    result = decode_result(
        status="completed", output={"structured_content": structured}
    )

    assert result.content == "Exit code 2\nout\nerr"
    assert result.metadata == {"is_error": True, "exit_code": 2}


def test_a_result_without_text_is_shown_as_json():
    output = {"content": [], "structured_content": {"lines": 1}}

    assert decode_result(status="completed", output=output).content == '{"lines":1}'
    assert decode_result(status="completed").content == ""


def test_a_failed_call_has_the_text_of_its_error():
    result = decode_result(status="failed", error={"message": "No such file"})

    assert (result.content, result.metadata) == ("No such file", {"is_error": True})


def test_a_message_of_an_unknown_role_is_unknown():
    (record,) = decode("message", role="oracle", content="Hm")

    assert (record.type, record.metadata["role"]) == ("unknown", "oracle")


def test_empty_reasoning_is_left_out():
    assert decode("reasoning", text="", summary=[]) == []


def test_files_have_placeholders():
    parts = [
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x"}},
        {"type": "resource_link"},
    ]

    assert join_texts(parts).split("\n\n") == [
        "[image image/png, 3 B]",
        "[file:///a.py]",
        "[resource]",
    ]
