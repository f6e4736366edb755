"""Lines and settings of Droid's sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents._droid_lines import decode_line, decode_settings
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, Record
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

ROOT = Path("/sessions")
SOURCE = SourceRef(
    agent="droid",
    path=ROOT / "-app" / "child.settings.json",
    root=ROOT,
    shape=Shape.DOCUMENT,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(value: dict[str, Any], **state: Any) -> DecodeResult:
    return decode_line(RawEntry(SOURCE, 0, json.dumps(value).encode()), state)


def decode_message(role: str, *blocks: dict[str, Any]) -> tuple[Record, ...]:
    message = {"role": role, "content": list(blocks)}
    return decode({"type": "message", "id": "1", "message": message}).records


def decode_model_settings(**state: Any) -> DecodeResult:
    data = json.dumps({"model": "m", "tokenUsage": {"inputTokens": 5}}).encode()
    return decode_settings(RawEntry(SOURCE, 0, data), state)


def test_settings_go_to_the_subagent_that_the_log_names():
    header = '{"type":"session_start","callingSessionId":"main-1"}\n{"callingSessionId"'

    (record,) = decode_model_settings(beside=header, cwd="/app").records

    assert record.session == ("droid", "main-1", "subagent:child")
    assert record.message_id == "session:child"


def test_settings_of_a_main_session_go_to_it():
    (record,) = decode_model_settings(beside='{"type":"session_start"}').records

    assert record.session == ("droid", "child", "main")


def test_settings_without_a_log_are_noise():
    decoded = decode_model_settings(beside="", cwd="/app")

    assert (decoded.records, decoded.noise, decoded.cwd) == ((), "settings", "/app")


@pytest.mark.parametrize(
    ("model_id", "model"),
    [
        ("custom:scripted-1-0", "scripted-1"),
        ("custom:mine", "mine"),
        ("claude-opus-4-5", "claude-opus-4-5"),
        (7, ""),
    ],
)
def test_a_model_of_the_users_has_its_plain_name(model_id: object, model: str):
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
        "modelId": model_id,
    }

    (record,) = decode({"type": "message", "id": "1", "message": message}).records

    assert record.model == model


def test_an_unknown_block_keeps_its_json():
    (record,) = decode_message("assistant", {"type": "audio"})

    assert (record.type, record.content) == ("unknown", '{"type":"audio"}')


def test_a_result_that_looks_like_json_and_is_not_has_no_report():
    block = {"type": "tool_result", "content": '{"success":true', "tool_use_id": "c"}

    (record,) = decode_message("user", block)

    assert record.metadata == {}


def test_a_failed_turn_without_a_message_has_an_error():
    outcome = {"type": "agent_turn_outcome", "turnId": "1", "reason": "process_died"}

    types = [
        [record.type for record in decode(outcome, is_failed=is_failed).records]
        for is_failed in (False, True)
    ]

    assert types == [["error", "system_event"], ["system_event"]]


def test_a_task_without_markers_is_stored_as_it_is():
    message = {"role": "user", "content": "Count."}

    (record,) = decode(
        {"type": "message", "id": "1", "message": message}, parent="main-1"
    ).records

    assert (record.content, record.metadata) == ("Count.", {"origin": "task"})


def test_an_overlong_parent_is_ignored():
    decoded = decode({"type": "session_start", "callingSessionId": "x" * 101})

    assert decoded.state == {}


def test_a_fragment_that_is_no_line_is_rejected():
    with pytest.raises(DecodeError):
        decode_line(RawEntry(SOURCE, 0, b'{"type":"text"}', is_fragment=True), {})
