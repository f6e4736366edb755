"""Messages of a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leslied.agents._cline_tasks.decode import decode_task
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="roo-code",
    path=Path("/r/t1/ui_messages.json"),
    root=Path("/r"),
    shape=Shape.DOCUMENT,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(*messages: Any, beside: str = "") -> DecodeResult:
    data = json.dumps(messages).encode()
    return decode_task(RawEntry(SOURCE, 0, data), {"beside": beside})


def test_the_folder_is_read_from_metadata_that_was_cut():
    decoded = decode(beside='{"id": "t1", "workspace": "/a \\"b", "task": "x')

    assert decoded.cwd == '/a "b'
    assert decoded.state == {}


def test_a_result_without_a_call_is_a_notice():
    output = {"type": "say", "say": "command_output", "text": "late"}

    _, record = decode(output).records

    assert (record.content, record.metadata["kind"]) == ("late", "notice")


def test_a_request_that_failed_is_an_error():
    request = {"cancelReason": "streaming_failed", "streamingFailedMessage": "down"}
    message = {"type": "say", "say": "api_req_started", "text": json.dumps(request)}

    _, record = decode(message).records

    assert (record.type, record.content) == ("error", "down")


def test_a_question_without_json_keeps_its_text():
    question = {"type": "ask", "ask": "followup", "text": "Why?"}

    _, record, end = decode(question).records

    assert (record.type, record.content) == ("assistant_message", "Why?")
    assert end.metadata["kind"] == "turn_ended"


def test_the_turn_goes_on_while_its_last_message_is_written():
    answer = {"type": "say", "say": "completion_result", "text": "I", "partial": True}

    _, record = decode(answer).records

    assert record.type == "assistant_message"
