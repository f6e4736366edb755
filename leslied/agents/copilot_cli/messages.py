"""What was said, thought, asked of tools, and answered by them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import to_json
from leslied.agents.copilot_cli.line import Line, digest, flatten, text_of
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from leslied.agents.copilot_cli.line import Made, State
    from leslied.model.record import Record

_INJECTED = ("agent", "autopilot", "hook", "instruction", "jit-", "skill", "system")
"""How the source of a user message begins that nobody typed."""
_TEXT, _CALLS = 1, 2
"""Block numbers of an answer's words and of its first call."""
_MOST_ASKED = 16


def decode_user(line: Line, state: State) -> Made:
    """A person's words, the task of a subagent, or what the client put in."""
    text, source = line.text("content"), line.text("source")
    text = "\n\n".join(filter(None, [text, *_tell_attachments(line.data)]))
    if not text:
        return (line.event("notice", note="empty"),), state
    if line.key.source != MAIN:
        return (_speak(line, text, "task"),), state
    if source.startswith("skill") or text.startswith("<skill-context"):
        return (line.event("context", text, note=source or "skill"),), state
    if line.data.get("isAutopilotContinuation") is True or source.startswith(_INJECTED):
        return (line.event("notice", text, note=source or "autopilot"),), state
    if line.text("agentMode") == "shell":
        return (_speak(line, text, "shell"),), state
    is_steering = line.text("delivery") == "steering"
    return (_speak(line, text, "queued" if is_steering else "prompt"),), state


def _speak(line: Line, text: str, origin: str) -> Record:
    metadata = {"origin": origin}
    if line.text("agentMode"):
        metadata["permission_mode"] = line.text("agentMode")
    return line.record("user_message", "user", content=text, metadata=metadata)


def _tell_attachments(data: dict[str, Any]) -> list[str]:
    """Each attached thing in one line, by its name."""
    told = data.get("attachments")
    things = [t for t in told if isinstance(t, dict)] if isinstance(told, list) else []
    return [_tell_attachment(thing) for thing in things]


def _tell_attachment(thing: dict[str, Any]) -> str:
    names = ("displayName", "path", "filePath", "title", "url", "mimeType")
    name = next((n for n in map(text_of, map(thing.get, names)) if n), "")
    kind = text_of(thing.get("type")) or "attachment"
    if text_of(thing.get("mimeType")).startswith("image/"):
        kind = "image"
    return f"[{kind} {name}]" if name else f"[{kind}]"


def decode_assistant(line: Line, state: State) -> Made:
    """Thoughts, words, and a call for every tool that is asked for."""
    requests = _requests(line.data)
    is_end = _is_last(line.data) and not requests
    base: dict[str, Any] = {
        "model": line.text("model"),
        "message_id": line.text("apiCallId") or line.text("messageId"),
        "metadata": {"stop_reason": "end_turn"} if is_end else {},
    }
    thought, words = line.text("reasoningText"), line.text("content")
    records = []
    if thought and state.get("thought") != digest(thought):
        records.append(line.record("thinking", "assistant", content=thought, **base))
    if words or not (requests or records):
        more = {"content": words, "block": _TEXT, **base}
        records.append(line.record("assistant_message", "assistant", **more))
    for number, request in enumerate(requests, _CALLS):
        call = _call(request, "name")
        records.append(
            line.record("tool_use", "assistant", block=number, **call, **base)
        )
    state = {name: value for name, value in state.items() if name != "thought"}
    calls = [text_of(request.get("toolCallId")) for request in requests]
    return tuple(records), _ask(state, *calls)


def _requests(data: dict[str, Any]) -> list[dict[str, Any]]:
    told = data.get("toolRequests")
    return [r for r in told if isinstance(r, dict)] if isinstance(told, list) else []


def _is_last(data: dict[str, Any]) -> bool:
    """Whether no more of the same answer follows."""
    index, count = data.get("chunkIndex"), data.get("chunkCount")
    if not isinstance(index, int) or not isinstance(count, int):
        return True
    return index >= count - 1


def _call(told: dict[str, Any], name: str) -> dict[str, str]:
    """The fields of a call; arguments are an object, or text that may be JSON."""
    given = told.get("arguments")
    is_json = isinstance(given, str) and _is_json(given)
    return {
        "tool_name": text_of(told.get(name)),
        "tool_call_id": text_of(told.get("toolCallId")),
        "tool_input": str(given) if is_json else to_json(given),
    }


def _is_json(text: str) -> bool:
    try:
        return json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


def decode_reasoning(line: Line, state: State) -> Made:
    """Older versions tell a thought in a line of its own, and again in the answer."""
    thought = line.text("content")
    record = line.record("thinking", "assistant", content=thought)
    return (record,), {**state, "thought": digest(thought)}


def decode_start(line: Line, state: State) -> Made:
    """A call nobody asked for in a message; of all others this is the second word."""
    name = digest(line.text("toolCallId"))
    asked: list[str] = state.get("asked", [])
    if name in asked:
        return (), {**state, "asked": [one for one in asked if one != name]}
    model = line.text("model")
    call = _call(line.data, "toolName")
    return (line.record("tool_use", "assistant", model=model, **call),), state


def decode_requested(line: Line, state: State) -> Made:
    """A command that the person ran, the agent looking on."""
    call = _call(line.data, "toolName")
    given = line.data.get("arguments")
    command = text_of(given.get("command")) if isinstance(given, dict) else ""
    text = f"! {command or call['tool_name'] + ' ' + call['tool_input']}"
    return (_speak(line, text, "shell"),), _ask(state, call["tool_call_id"])


def _ask(state: State, *calls: str) -> State:
    """The state that knows of these calls, for when they begin."""
    if not calls:
        return state
    asked = [*state.get("asked", []), *map(digest, calls)][-_MOST_ASKED:]
    return {**state, "asked": asked}


def decode_complete(line: Line, state: State) -> Made:
    """What a tool answered, in the words the model was given."""
    result, error = line.data.get("result"), line.data.get("error")
    text = flatten(result, "content", "detailedContent")
    text = text or flatten(error, "message")
    if line.data.get("isUserRequested") is True:
        return (line.event("turn_ended", text, note="shell"),), state
    metadata = {"is_error": True} if line.data.get("success") is False else {}
    record = line.record(
        "tool_result",
        "tool",
        content=text,
        tool_call_id=line.text("toolCallId"),
        metadata=metadata,
    )
    return (record,), state
