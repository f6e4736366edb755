"""Requests to a chat completions API."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.errors import DecodeError
from leslied.model.record import Usage
from tests.support.imports import decode_file, split_file, summarize

NAME = "log.jsonl"
USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Hello."}


def decode(*messages: dict[str, Any], **fields: Any):
    return decode_file("litellm", NAME, {"messages": messages, **fields}).records


def respond(message: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], **fields}


def test_a_response_has_the_same_id_in_the_next_request():
    first = decode(USER, response=respond(ANSWER))
    second = decode(USER, ANSWER)

    assert [r.native_id for r in first] == [r.native_id for r in second]
    assert {r.session for r in first} == {r.session for r in second}
    assert [r.is_repeat for r in first] == [True, False]


def test_the_same_text_at_another_place_is_another_message():
    records = decode(USER, ANSWER, USER)

    assert len({r.native_id for r in records}) == 3


@pytest.mark.parametrize(
    "fields",
    [{"trace_id": "t"}, {"metadata": {"session_id": "t"}}, {"litellm_trace_id": "t"}],
)
def test_a_line_may_name_its_session(fields: dict[str, Any]):
    assert {r.session.session_id for r in decode(USER, **fields)} == {"t"}


def test_cached_tokens_are_subtracted_from_the_input():
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}

    records = decode(USER, response=respond(ANSWER, usage=usage))

    assert records[-1].usage == Usage(5, 0, 4)


def test_a_failed_request_is_an_error():
    assert summarize(decode(USER, error_str="no"))[-1] == ("error", "no")


def test_a_line_without_messages_is_rejected_and_not_imported():
    with pytest.raises(DecodeError):
        decode_file("litellm", NAME, {"messages": ["x"]})
    assert split_file("litellm", "/x/a.jsonl", {"messages": []}) == {}
