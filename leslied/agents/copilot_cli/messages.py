"""What was said, thought, asked of tools, and answered by them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.agents.copilot_cli.schema import (
    CopilotEvent,
    as_text,
    flatten_text,
    short_digest,
)
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.schema import RecordsAndState, State
    from leslied.model.record import Record

_INJECTED_SOURCES = (
    "agent",
    "autopilot",
    "hook",
    "instruction",
    "jit-",
    "skill",
    "system",
)
"""How the source of a user message begins that nobody typed."""
_TEXT, _CALLS = 1, 2
"""Block numbers of an answer's words and of its first call."""
_MAX_REQUESTS = 16


def decode_user(line: CopilotEvent, state: State) -> RecordsAndState:
    """A person's words, the task of a subagent, or what the client put in."""
    text, source = line.text_field("content"), line.text_field("source")
    text = "\n\n".join(filter(None, [text, *_list_attachment_labels(line.data)]))
    if not text:
        return (line.make_event("notice", note="empty"),), state
    if line.key.source != MAIN:
        return (_make_user_message(line, text, "task"),), state
    if source.startswith("skill") or text.startswith("<skill-context"):
        return (line.make_event("context", text, note=source or "skill"),), state
    if line.data.get("isAutopilotContinuation") is True or source.startswith(
        _INJECTED_SOURCES
    ):
        return (line.make_event("notice", text, note=source or "autopilot"),), state
    if line.text_field("agentMode") == "shell":
        return (_make_user_message(line, text, "shell"),), state
    is_steering = line.text_field("delivery") == "steering"
    return (
        _make_user_message(line, text, "queued" if is_steering else "prompt"),
    ), state


def _make_user_message(line: CopilotEvent, text: str, origin: str) -> Record:
    metadata = {"origin": origin}
    if line.text_field("agentMode"):
        metadata["permission_mode"] = line.text_field("agentMode")
    return line.make_record("user_message", "user", content=text, metadata=metadata)


def _list_attachment_labels(data: dict[str, Any]) -> list[str]:
    """Each attached thing in one line, by its name."""
    told = data.get("attachments")
    things = [t for t in told if isinstance(t, dict)] if isinstance(told, list) else []
    return [_format_attachment(thing) for thing in things]


def _format_attachment(thing: dict[str, Any]) -> str:
    names = ("displayName", "path", "filePath", "title", "url", "mimeType")
    name = next((n for n in map(as_text, map(thing.get, names)) if n), "")
    kind = as_text(thing.get("type")) or "attachment"
    if as_text(thing.get("mimeType")).startswith("image/"):
        kind = "image"
    return f"[{kind} {name}]" if name else f"[{kind}]"


def decode_assistant(line: CopilotEvent, state: State) -> RecordsAndState:
    """Thoughts, words, and a call for every tool that is asked for."""
    requests = _list_tool_requests(line.data)
    is_end = _is_last_chunk(line.data) and not requests
    base: dict[str, Any] = {
        "model": line.text_field("model"),
        "message_id": line.text_field("apiCallId") or line.text_field("messageId"),
        "metadata": {"stop_reason": "end_turn"} if is_end else {},
    }
    thought, words = line.text_field("reasoningText"), line.text_field("content")
    records = []
    if thought and state.get("thought") != short_digest(thought):
        records.append(
            line.make_record("thinking", "assistant", content=thought, **base)
        )
    if words or not (requests or records):
        more = {"content": words, "block": _TEXT, **base}
        records.append(line.make_record("assistant_message", "assistant", **more))
    for number, request in enumerate(requests, _CALLS):
        call = _call_fields(request, "name")
        records.append(
            line.make_record("tool_use", "assistant", block=number, **call, **base)
        )
    state = {name: value for name, value in state.items() if name != "thought"}
    calls = [as_text(request.get("toolCallId")) for request in requests]
    return tuple(records), _remember_requests(state, *calls)


def _list_tool_requests(data: dict[str, Any]) -> list[dict[str, Any]]:
    told = data.get("toolRequests")
    return [r for r in told if isinstance(r, dict)] if isinstance(told, list) else []


def _is_last_chunk(data: dict[str, Any]) -> bool:
    """Whether no more of the same answer follows."""
    index, count = data.get("chunkIndex"), data.get("chunkCount")
    if not isinstance(index, int) or not isinstance(count, int):
        return True
    return index >= count - 1


def _call_fields(told: dict[str, Any], name: str) -> dict[str, str]:
    """The fields of a call; arguments are an object, or text that may be JSON."""
    given = told.get("arguments")
    is_json = isinstance(given, str) and _is_json(given)
    return {
        "tool_name": as_text(told.get(name)),
        "tool_call_id": as_text(told.get("toolCallId")),
        "tool_input": str(given) if is_json else to_json(given),
    }


def _is_json(text: str) -> bool:
    try:
        return json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


def decode_reasoning(line: CopilotEvent, state: State) -> RecordsAndState:
    """Older versions tell a thought in a line of its own, and again in the answer."""
    thought = line.text_field("content")
    record = line.make_record("thinking", "assistant", content=thought)
    return (record,), {**state, "thought": short_digest(thought)}


def decode_tool_start(line: CopilotEvent, state: State) -> RecordsAndState:
    """A call nobody asked for in a message; of all others this is the second word."""
    name = short_digest(line.text_field("toolCallId"))
    asked: list[str] = state.get("asked", [])
    if name in asked:
        return (), {**state, "asked": [one for one in asked if one != name]}
    model = line.text_field("model")
    call = _call_fields(line.data, "toolName")
    return (line.make_record("tool_use", "assistant", model=model, **call),), state


def decode_user_command(line: CopilotEvent, state: State) -> RecordsAndState:
    """A command that the person ran, the agent looking on."""
    call = _call_fields(line.data, "toolName")
    given = line.data.get("arguments")
    command = as_text(given.get("command")) if isinstance(given, dict) else ""
    text = f"! {command or call['tool_name'] + ' ' + call['tool_input']}"
    return (_make_user_message(line, text, "shell"),), _remember_requests(
        state, call["tool_call_id"]
    )


def _remember_requests(state: State, *calls: str) -> State:
    """The state that knows of these calls, for when they begin."""
    if not calls:
        return state
    asked = [*state.get("asked", []), *map(short_digest, calls)][-_MAX_REQUESTS:]
    return {**state, "asked": asked}


def decode_tool_result(line: CopilotEvent, state: State) -> RecordsAndState:
    """What a tool answered, in the words the model was given."""
    result, error = line.data.get("result"), line.data.get("error")
    text = flatten_text(result, "content", "detailedContent")
    text = text or flatten_text(error, "message")
    if line.data.get("isUserRequested") is True:
        return (line.make_event("turn_ended", text, note="shell"),), state
    metadata = {"is_error": True} if line.data.get("success") is False else {}
    record = line.make_record(
        "tool_result",
        "tool",
        content=text,
        tool_call_id=line.text_field("toolCallId"),
        metadata=metadata,
    )
    return (record,), state
