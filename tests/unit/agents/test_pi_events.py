"""Events that Pi and OpenClaw write."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.agents._pi_events import decode_event
from leslied.model.record import DecodeResult, SessionKey, Usage

KEY = SessionKey("pi", "s")


def decode(value: dict[str, Any], **state: Any) -> DecodeResult:
    event = {"id": "1", "timestamp": "2026-11-17T10:00:05Z", **value}
    return decode_event(event, KEY, state, b"raw")


def decode_message(role: str, **fields: Any) -> DecodeResult:
    return decode({"type": "message", "message": {"role": role, **fields}})


def test_an_unknown_event_keeps_its_text():
    (record,) = decode({"type": "later"}).records

    assert (record.type, record.content) == ("unknown", "raw")


def test_an_unknown_part_of_an_answer_keeps_its_json():
    (record,) = decode_message("assistant", content=[{"type": "audio"}]).records

    assert (record.type, record.content) == ("unknown", '{"type":"audio"}')


def test_an_exit_code_in_the_details_marks_a_failed_command():
    text = [{"type": "text", "text": "err\n\n(Command exited with code 1)"}]

    (record,) = decode_message(
        "toolResult", content=text, details={"exitCode": 1}, isError=False
    ).records

    assert record.content == "Exit code 1\nerr"
    assert record.metadata == {"is_error": True, "exit_code": 1}


def test_an_exit_code_of_zero_is_no_error():
    (record,) = decode_message(
        "toolResult", content="ok", details={"exitCode": 0}
    ).records

    assert (record.content, record.metadata) == ("ok", {})


@pytest.mark.parametrize(
    ("role", "kind"), [("compactionSummary", "compacted"), ("branchSummary", "context")]
)
def test_a_summary_in_a_message_is_an_event(role: str, kind: str):
    (record,) = decode_message(role, summary="Short.").records

    assert (record.metadata["kind"], record.content) == (kind, "Short.")


def test_the_part_of_cache_writes_with_a_long_lifetime_is_no_larger_than_all():
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}

    (record,) = decode({"type": "usage", "usage": {**usage, "cacheWrite1h": 9}}).records

    assert record.usage == Usage(1, 2, 3, 4, 4)


def test_a_prompt_that_is_only_a_file_is_the_prompt():
    text = '<file name="/a">\nx\n</file>\n'

    (record,) = decode_message("user", content=text).records

    assert (record.content, record.metadata) == (text, {"origin": "prompt"})


@pytest.mark.parametrize(("sent", "origin"), [(4000, "queued"), (9000, "prompt")])
def test_a_message_sent_before_the_last_result_was_queued(sent: int, origin: str):
    start = 1794909600000
    message = {"role": "user", "content": "x", "timestamp": start + sent}

    (record,) = decode(
        {"type": "message", "message": message}, result_us=(start + 5000) * 1000
    ).records

    assert record.metadata["origin"] == origin


def test_an_answer_forgets_the_time_of_the_last_result():
    decoded = decode(
        {"type": "message", "message": {"role": "assistant", "stopReason": "error"}},
        result_us=1,
        cwd="/app",
    )

    assert decoded.state == {"cwd": "/app", "failed": "1"}
    assert decoded.cwd == "/app"
