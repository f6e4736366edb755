"""Lines of Kimi Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents._kimi_lines import decode_line
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

ROOT = Path("/sessions")
SOURCE = SourceRef(
    agent="kimi-code",
    path=ROOT / "wd" / "session_1" / "agents" / "main" / "wire.jsonl",
    root=ROOT,
    shape=Shape.APPEND_LOG,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(value: dict[str, Any], **state: Any) -> DecodeResult:
    return decode_line(RawEntry(SOURCE, 0, json.dumps(value).encode()), state)


def decode_message(role: str, **fields: Any) -> DecodeResult:
    message = {"role": role, **fields}
    return decode({"type": "context.append_message", "message": message})


def test_a_fragment_is_rejected_if_it_is_no_line():
    with pytest.raises(DecodeError):
        decode_line(RawEntry(SOURCE, 0, b'{"type":"x"}', is_fragment=True), {})


@pytest.mark.parametrize("role", ["assistant", "later", ""])
def test_a_message_without_content_is_unknown(role: str):
    (record,) = decode_message(role).records

    assert record.type == "unknown"


def test_content_that_is_text_is_a_prompt():
    (record,) = decode_message("user", content="Go.").records

    assert (record.content, record.metadata) == ("Go.", {"origin": "prompt"})


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "image_url", "imageUrl": {"url": "data:a"}}, "[image data]"),
        ({"type": "video_url", "videoUrl": {"url": "ms://1"}}, "[video ms://1]"),
        ({"type": "audio_url"}, "[audio ]"),
    ],
)
def test_a_file_has_a_placeholder(part: dict[str, Any], text: str):
    (record,) = decode_message("user", content=[part]).records

    assert record.content == text


def test_an_unknown_event_of_the_loop_is_unknown():
    line = {"type": "context.append_loop_event", "event": {"type": "later"}}

    (record,) = decode(line).records

    assert record.type == "unknown"


def test_a_summary_may_be_a_message():
    summary = {"role": "user", "content": [{"type": "text", "text": "s"}]}

    (record,) = decode({"type": "context.apply_compaction", "summary": summary}).records

    assert (record.metadata["kind"], record.content) == ("compacted", "s")


def test_the_state_forgets_a_turn_that_ended():
    state = decode({"type": "turn.prompt", "promptId": "p"}).state
    assert state["turn"] == "p"

    assert "turn" not in decode({"type": "turn.ended"}, **state).state


def test_a_long_folder_is_ignored():
    beside = json.dumps({"cwd": "/" + "x" * 900})

    assert decode({"type": "metadata"}, beside=beside).state["cwd"] == ""
