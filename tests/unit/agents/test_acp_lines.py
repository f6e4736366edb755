"""Streams of ACP messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leslied.agents._acp_lines import erase_sessions
from leslied.errors import DecodeError
from tests.support.imports import decode_file, split_file, summarize


def make_chunk(text: str, session: str = "s", kind: str = "agent") -> dict[str, Any]:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": f"{kind}_message_chunk", "content": content}
    return {
        "method": "session/update",
        "params": {"sessionId": session, "update": update},
    }


def decode(*messages: Any):
    data = b"\n".join(
        m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages
    )
    return decode_file("acp", "s.jsonl", data).records


def test_the_chunks_of_a_text_are_one_record():
    assert summarize(decode(make_chunk("a"), make_chunk("b"))) == [
        ("assistant_message", "ab")
    ]


def test_chunks_of_different_sessions_are_not_joined():
    records = decode(make_chunk("a", "s"), make_chunk("b", "t"))

    assert [r.session.session_id for r in records] == ["s", "t"]


def test_a_stream_that_has_grown_keeps_its_ids():
    first = decode(make_chunk("a", kind="user"), make_chunk("b"))
    later = decode(make_chunk("a", kind="user"), make_chunk("b"), make_chunk("c"))

    assert [r.native_id for r in first] == [r.native_id for r in later]


def test_an_error_in_the_response_to_a_prompt_is_an_error():
    prompt = {"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}

    records = decode(prompt, {"id": 1, "error": {"message": "no"}})

    assert summarize(records)[-1] == ("error", "no")
    assert records[-1].session.session_id == "s"


def test_a_damaged_line_is_kept_and_an_unfinished_last_one_is_not():
    records = decode(make_chunk("a"), b"{x", make_chunk("b"), b'{"meth')

    assert [r.type for r in records] == [
        "assistant_message",
        "unknown",
        "assistant_message",
    ]


def test_a_message_of_no_session_is_rejected():
    with pytest.raises(DecodeError):
        decode({"id": 1, "method": "initialize", "params": {}})


def test_a_file_without_sessions_is_not_imported():
    assert split_file("acp", "/x/a.jsonl", {"method": "other"}) == {}


def encode(*messages: Any) -> bytes:
    return b"\n".join(json.dumps(message).encode() for message in messages)


def test_the_messages_of_a_session_are_erased():
    large = make_chunk("x" * 5_000_000, "other")
    data = encode(make_chunk("one"), make_chunk("two", "other"), large)

    erased = erase_sessions("a.jsonl", data, {"s"}).split(b"\n")

    assert json.loads(erased[0])["result"] is None
    assert b"one" not in erased[0]
    assert erased[1:] == data.split(b"\n")[1:]


def test_the_messages_of_other_sessions_keep_their_ids():
    first, other = make_chunk("one"), [make_chunk(t, "other") for t in ("two", "three")]
    data = (
        b"\n" + encode(first, first, other[0], {}, first) + b"\n\n" + encode(other[1])
    )

    erased = erase_sessions("a.jsonl", data, {"s", "a"})
    erased_twice = erase_sessions("a.jsonl", erased, {"s", "a"})

    before, *after = (
        decode_file("acp", "a.jsonl", each).records
        for each in (data, erased, erased_twice)
    )
    ids = [r.native_id for r in before if r.session.session_id == "other"]
    assert len(ids) == 2
    assert [[r.native_id for r in records] for records in after] == [ids, ids]


def test_messages_without_a_session_id_are_erased_with_the_session_of_the_file():
    chunk = make_chunk("secret")
    del chunk["params"]["sessionId"]
    data = encode(chunk, make_chunk("two", "other"))

    assert b"secret" not in erase_sessions("a.jsonl", data, {"a"})
    assert erase_sessions("b.jsonl", data, {"a"}) == data
