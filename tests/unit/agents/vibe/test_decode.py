"""Entries of Mistral Vibe: journal and checkpoints yield the same records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.vibe.decode import decode_entry
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, Usage
from leslied.model.source import FileStamp, RawEntry, Shape, SourceRef

SOURCE = SourceRef(
    agent="vibe",
    path=Path("/v/s1/CURRENT"),
    root=Path("/v"),
    shape=Shape.CHECKPOINT_STORE,
    stamp=FileStamp(0, 0, 0, 0, 0),
)
ANSWER = {
    "type": "message",
    "id": "a1",
    "role": "assistant",
    "turnId": "t1",
    "updatedAt": 1794876615159,
    "content": [{"type": "text", "text": "Hello."}],
}
PROMPT = {**ANSWER, "id": "u2", "role": "user", "turnId": "t2"}
TURN = {"id": "t1", "status": "completed", "completedAt": 1794876615159}


def decode(state: dict[str, Any] | None = None, **value: Any) -> DecodeResult:
    return decode_entry(RawEntry(SOURCE, 0, json.dumps(value).encode()), state or {})


def decode_delta(*changes: Any, state: dict[str, Any] | None = None) -> DecodeResult:
    payload = {"delta": changes}
    return decode(state, journal={"type": "projection_delta", "payload": payload})


def test_an_entry_of_another_form_is_rejected():
    with pytest.raises(DecodeError):
        decode(other={})


def test_journal_and_history_have_the_same_records():
    journal = decode_delta({"op": "append_entry", "entry": ANSWER})

    assert journal.records == decode(history=ANSWER).records


def test_the_next_prompt_ends_a_turn_like_the_state_does():
    state = decode(history=ANSWER).state
    inferred, _ = decode(state, history=PROMPT).records
    (stated,) = decode(state, projection={"snapshot": {"latestTurn": TURN}}).records

    assert inferred == stated
    assert inferred.metadata == {"kind": "turn_ended", "stop_reason": "end_turn"}


def test_a_turn_ends_once():
    state = decode(history=ANSWER).state
    state = decode(state, projection={"snapshot": {"latestTurn": TURN}}).state

    assert len(decode(state, history=PROMPT).records) == 1
    assert decode(state, projection={"snapshot": {"latestTurn": TURN}}).records == ()


@pytest.mark.parametrize(
    ("reason", "stop_reason"), [("limit", "max_turns"), ("length", "max_tokens")]
)
def test_a_limit_ends_a_turn(reason: str, stop_reason: str):
    turn = {**TURN, "stopReason": reason}

    (record,) = decode(projection={"snapshot": {"latestTurn": turn}}).records

    assert record.metadata["stop_reason"] == stop_reason


def test_tokens_are_a_sum_that_is_decoded_when_it_changes():
    session = {"tokenUsage": {"inputTokens": 9, "cachedInputTokens": 4}}
    first = decode_delta({"op": "set_envelope", "state": {"session": session}})
    second = decode(first.state, projection={"snapshot": {"session": session}})

    (record,) = first.records
    assert (record.usage, record.message_id) == (Usage(5, 0, 4), "session:s1")
    assert second.records == ()


def test_a_title_is_decoded_when_it_changes():
    session = {"title": "Hello", "titleSource": "auto"}
    first = decode(projection={"snapshot": {"session": session}})

    (record,) = first.records
    assert (record.content, record.metadata["title_kind"]) == ("Hello", "ai")
    assert decode(first.state, projection={"snapshot": {"session": session}}).noise


def test_a_subagent_names_the_call_that_started_it():
    decoded = decode(
        runtime={
            "identity": {"root_session_id": "r1"},
            "session_metadata": {"subagent_spawn_key": "k1", "cwd": "/app"},
        }
    )

    opened, link = decoded.records
    assert link.session == ("vibe", "r1", "subagent:s1")
    assert link.metadata["tool_call_id"] == "effect-k1"
    assert (opened.metadata["cwd"], decoded.cwd) == ("/app", "/app")


def test_what_restores_a_run_is_noise():
    assert decode(journal={"type": "action_intent"}).noise == "action_intent"


def test_text_in_place_of_an_entry_is_unknown():
    (record,) = decode(history="cannot be opened").records

    assert (record.type, record.content) == ("unknown", "cannot be opened")
