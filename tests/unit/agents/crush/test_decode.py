"""Messages of Crush's database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.crush.decode import decode_entry
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="crush",
    path=Path("/r/app/.crush/crush.db"),
    root=Path("/r"),
    shape=Shape.SQLITE,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(value: dict[str, Any]) -> DecodeResult:
    return decode_entry(RawEntry(SOURCE, 0, json.dumps(value).encode()), {})


def decode_message(role: str, *parts: Any, **fields: Any) -> DecodeResult:
    session = {"id": "s", "root": "s"}
    message = {"kind": "message", "id": "m", "role": role, "parts": parts}
    return decode({**message, "session": session, **fields})


def test_the_folder_is_that_of_the_database():
    assert decode_message("user").cwd == "/r/app"


def test_a_message_without_a_session_is_rejected():
    with pytest.raises(DecodeError):
        decode({"kind": "message", "id": "m"})


def test_an_entry_of_an_unknown_kind_is_unknown():
    (record,) = decode({"kind": "later"}).records

    assert record.type == "unknown"


def test_an_answer_at_the_limit_of_tokens_ends_the_turn():
    finish = {"type": "finish", "data": {"reason": "max_tokens"}}

    *_, end = decode_message("assistant", finish).records

    assert end.metadata == {"kind": "turn_ended", "stop_reason": "max_tokens"}


def test_a_result_that_is_a_file_has_a_placeholder():
    data = {"name": "view", "content": "", "data": "aGVsbG8=", "mime_type": "image/png"}

    *_, result = decode_message("tool", {"type": "tool_result", "data": data}).records

    assert result.content == "[file image/png, 6 B]"
