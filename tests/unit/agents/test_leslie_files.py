"""Transcripts and events of Leslie."""

from __future__ import annotations

import pytest

from leslied.errors import DecodeError
from tests.support.imports import decode_file, split_file, summarize

HEADER = """\
Thread ID: thread-1
Chat ID: chat-1
Time Range: 2026-11-01T10:00:00+01:00 ~ 2026-11-01T10:05:00+01:00
Agent Mode: agent
Stop Reason: {}
Tool Calls: 0
---
"""
QUERY = "user:\n<user_query>\nHi\n</user_query>\n"


def decode(body: str, reason: str = "end_turn"):
    text = HEADER.format(reason) + body
    return decode_file("leslie", "transcripts/a.txt", text.encode()).records


def test_a_transcript_is_kept_under_its_ids():
    copies = split_file("leslie", "/x/y.txt", HEADER.encode())

    assert list(copies) == ["transcripts/thread-1-chat-1.txt"]


@pytest.mark.parametrize("blank", ["", "\n"])
def test_both_forms_of_the_header_are_read(blank: str):
    records = decode(blank + QUERY + "\nassistant:\nHello.\n")

    assert summarize(records) == [
        ("user_message", "Hi"),
        ("assistant_message", "Hello."),
    ]
    assert records[-1].metadata == {"stop_reason": "end_turn"}


def test_the_first_and_the_last_record_have_the_times_of_the_header():
    records = decode(QUERY + "\nassistant:\nA\n\nassistant:\nB\n")

    times = [r.created_at.minute for r in records if r.created_at]
    assert times == [0, 0, 5]


def test_a_cancelled_unit_ends_with_an_interrupt():
    records = decode(QUERY, "cancelled")

    assert records[-1].metadata["note"] == "interrupt"


def test_another_text_is_rejected():
    with pytest.raises(DecodeError):
        decode_file("leslie", "transcripts/a.txt", b"Thread ID: x\n")


def test_an_event_without_a_thread_is_rejected():
    with pytest.raises(DecodeError):
        decode_file("leslie", "runtime/r/events.ndjson", {"type": "worker_exit"})


def test_an_unknown_event_is_kept():
    event = {"type": "later", "threadId": "t"}

    (record,) = decode_file("leslie", "runtime/r/events.ndjson", event).records

    assert record.type == "unknown"
