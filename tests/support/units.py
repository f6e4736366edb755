"""Build units without a store."""

from __future__ import annotations

import itertools
from typing import Any

from leslied.model.record import PlacedRecord, Record, SessionKey
from leslied.model.session import SessionSummary, Unit
from tests.support.records import START_TIME, make_key, make_prompt, make_record

_IDS = itertools.count()


def make_summary(key: SessionKey | None = None, **fields: Any) -> SessionSummary:
    defaults: dict[str, Any] = {
        "key": key or make_key(),
        "thread_id": "thread-1",
        "title": "",
        "cwd": "/home/dev/app",
        "model": "",
        "started_at": None,
        "ended_at": None,
        "units": 1,
        "tool_calls": 0,
        "has_turn_ended": True,
        "is_stopped": False,
    }
    return SessionSummary(**{**defaults, **fields})


def make_placed(record: Record, entry_id: str = "") -> PlacedRecord:
    """Return a placement of the record, with a unique entry id by default."""
    number = next(_IDS)
    return PlacedRecord(
        record=record,
        entry_id=entry_id or f"entry-{number}",
        sequence=1,
        unit=1,
        read_order=number,
        observed_at=START_TIME,
        decoder_version=1,
        path="/logs/a.jsonl",
        generation=1,
        offset=0,
        length=1,
    )


def make_unit(*entries: Record | PlacedRecord, number: int = 1, **fields: Any) -> Unit:
    """Return a unit of these entries; the first user message is its prompt."""
    placed = tuple(
        e if isinstance(e, PlacedRecord) else make_placed(e) for e in entries
    )
    prompts = [p.record.content for p in placed if p.record.type == "user_message"]
    defaults = {
        "chat_id": f"chat-{next(_IDS)}",
        "summary": make_summary(),
        "prompt": prompts[0] if prompts and number else "",
        "stop_reason": "end_turn",
        "agent_mode": "agent",
    }
    return Unit(number=number, entries=placed, **{**defaults, **fields})


def make_child(
    *entries: Record | PlacedRecord, name: str = "a1", call: str = "", **fields: Any
) -> Unit:
    """Return a subagent's unit; `call` is the id of the tool call that started it."""
    summary = make_summary(
        make_key(source=f"subagent:{name}"), spawn_call_id=call, description=name
    )
    records = [e.record if isinstance(e, PlacedRecord) else e for e in entries]
    prompt = next((r.content for r in records if r.type == "user_message"), "")
    defaults = {"number": 0, "summary": summary, "prompt": prompt}
    return make_unit(*entries, **{**defaults, **fields})


def make_turn_unit(prompt: str, answer: str = "done", **fields: Any) -> Unit:
    return make_unit(make_prompt(prompt), make_record(answer), **fields)


def make_call(tool: str, tool_input: str, call_id: str, **fields: Any) -> Record:
    defaults = {"type": "tool_use", "tool_name": tool, "tool_input": tool_input}
    return make_record("", **{**defaults, "tool_call_id": call_id, **fields})


def make_result(call_id: str, content: str, **fields: Any) -> Record:
    defaults = {"type": "tool_result", "role": "tool", "tool_call_id": call_id}
    return make_record(content, **{**defaults, **fields})
