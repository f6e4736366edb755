"""Entries of OpenHands: the states of sessions, tokens and links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.openhands.decode import decode_entry
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="openhands",
    path=Path("/o/c1/base_state.json"),
    root=Path("/o"),
    shape=Shape.EVENT_TREE,
    stamp=FileStamp(0, 0, 0, 0, 0),
)


def decode(state: dict[str, Any] | None = None, **value: Any) -> DecodeResult:
    data = json.dumps({"path": [], **value}).encode()
    return decode_entry(RawEntry(SOURCE, 0, data), state or {})


def make_conversation(*response_ids: str) -> dict[str, Any]:
    usages = [{"prompt_tokens": 9, "response_id": id_} for id_ in response_ids]
    metrics = {"agent": {"token_usages": usages}}
    return {
        "workspace": {"working_dir": "/app"},
        "stats": {"usage_to_metrics": metrics},
    }


def make_task(prompt: str, call_id: str) -> dict[str, Any]:
    action = {"kind": "TaskAction", "prompt": prompt}
    return {"kind": "ActionEvent", "tool_call_id": call_id, "action": action}


def make_message(text: str) -> dict[str, Any]:
    message = {"role": "user", "content": [{"text": text}]}
    return {"kind": "MessageEvent", "source": "user", "llm_message": message}


def list_requests(decoded: DecodeResult) -> list[str]:
    return [r.message_id for r in decoded.records if r.type == "token_usage"]


def list_links(decoded: DecodeResult) -> list[tuple[str, str]]:
    return [
        (record.session.source, record.metadata["tool_call_id"])
        for record in decoded.records
        if record.metadata.get("kind") == "subagent_linked"
    ]


def test_an_entry_without_event_and_state_is_rejected():
    with pytest.raises(DecodeError):
        decode()


def test_the_tokens_of_a_request_follow_the_event_that_answers_it():
    event = {"kind": "ActionEvent", "llm_response_id": "r2"}

    first = decode(state={}, event=event)
    assert list_requests(first) == []

    second = decode_entry(
        RawEntry(
            SOURCE,
            0,
            json.dumps(
                {"state": make_conversation("r1", "r2", "r3"), "event": event}
            ).encode(),
        ),
        {},
    )
    assert list_requests(second) == ["r1", "r2"]


def test_a_state_alone_has_the_tokens_that_were_not_decoded_before():
    value = {"state": make_conversation("r1", "r2")}
    first = decode_entry(RawEntry(SOURCE, 0, json.dumps(value).encode()), {})
    value = {"state": make_conversation("r1", "r2", "r3")}
    second = decode_entry(RawEntry(SOURCE, 0, json.dumps(value).encode()), first.state)

    assert list_requests(first) == ["r1", "r2"]
    assert list_requests(second) == ["r3"]
    assert [record.type for record in second.records] == ["token_usage"]


def test_a_subagent_is_linked_whichever_of_call_and_message_comes_first():
    call = decode(event=make_task("Count", "c1"))
    after_call = decode(call.state, path=["s1"], event=make_message("Count"))
    message = decode(path=["s1"], event=make_message("Count"))
    after_message = decode(message.state, event=make_task("Count", "c1"))

    assert list_links(after_call) == [("subagent:s1", "c1")]
    assert list_links(after_message) == [("subagent:s1", "c1")]


def test_two_calls_with_the_same_prompt_have_one_subagent_each():
    state = decode(event=make_task("Count", "c1")).state
    state = decode(state, event=make_task("Count", "c2")).state
    first = decode(state, path=["s1"], event=make_message("Count"))
    second = decode(first.state, path=["s2"], event=make_message("Count"))

    assert list_links(first) == [("subagent:s1", "c1")]
    assert list_links(second) == [("subagent:s2", "c2")]


def test_the_decode_state_stays_small():
    state: dict[str, Any] = {}
    for number in range(60):
        name = f"{number:032}"
        state = decode(state, event=make_task(f"Do {number}", f"call_{number}")).state
        state = decode(state, path=[name], event=make_message("Other")).state
        data = json.dumps({"path": [name], "state": make_conversation("r1")}).encode()
        state = decode_entry(RawEntry(SOURCE, 0, data), state).state

    assert len(json.dumps(state)) < 4096
