"""Decode messages, reasoning, tool calls and results."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import mark_exit_code, to_json
from leslied.agents.copilot_cli.schema import (
    CopilotLine,
    as_text,
    flatten_text,
    short_digest,
)
from leslied.model.record import MAIN, SHELL

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
"""A user message whose source starts with one of these was not typed by a person."""
_AGENT_STATE = re.compile(r"Agent is [^\n]*\bagent_id: ")
_TEXT_BLOCK, _FIRST_CALL_BLOCK = 1, 2
"""Block numbers of an answer's text and of its first call."""
_MAX_REQUESTS = 16
"""Number of requested calls in the decode state, which must stay small."""
_FAILED_SHELL = re.compile(
    r"\n?<(?:shellId: \S+ completed|exited) with exit code (-?[1-9]\d{0,8})>\s*\Z"
)
"""Line that the client writes after the output of a command that failed."""


def decode_user(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a person's prompt, the task of a subagent, or the client's text."""
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


def _make_user_message(line: CopilotLine, text: str, origin: str) -> Record:
    metadata = {"origin": origin}
    if line.text_field("agentMode"):
        metadata["permission_mode"] = line.text_field("agentMode")
    return line.make_record("user_message", "user", content=text, metadata=metadata)


def _list_attachment_labels(data: dict[str, Any]) -> list[str]:
    """Return one label for each attachment."""
    items = data.get("attachments")
    items = items if isinstance(items, list) else []
    return [_format_attachment(item) for item in items if isinstance(item, dict)]


def _format_attachment(attachment: dict[str, Any]) -> str:
    """Return a label with the kind and the name of an attachment."""
    keys = ("displayName", "path", "filePath", "title", "url", "mimeType")
    names = (as_text(attachment.get(key)) for key in keys)
    name = next(filter(None, names), "")
    kind = as_text(attachment.get("type")) or "attachment"
    if as_text(attachment.get("mimeType")).startswith("image/"):
        kind = "image"
    return f"[{kind} {name}]" if name else f"[{kind}]"


def decode_assistant(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode reasoning, text and requested tool calls.

    Reasoning is skipped if a line of its own has just reported it.
    """
    requests = _list_tool_requests(line.data)
    is_turn_end = _is_last_chunk(line.data) and not requests
    base: dict[str, Any] = {
        "model": line.text_field("model"),
        "message_id": line.text_field("apiCallId") or line.text_field("messageId"),
        "metadata": {"stop_reason": "end_turn"} if is_turn_end else {},
    }
    thought, text = line.text_field("reasoningText"), line.text_field("content")
    records = []
    if thought and state.get("thought") != short_digest(thought):
        records.append(
            line.make_record("thinking", "assistant", content=thought, **base)
        )
    if text or not (requests or records):
        fields = {"content": text, "block": _TEXT_BLOCK, **base}
        records.append(line.make_record("assistant_message", "assistant", **fields))
    for number, request in enumerate(requests, _FIRST_CALL_BLOCK):
        call_fields = _call_fields(request, "name")
        records.append(
            line.make_record(
                "tool_use", "assistant", block=number, **call_fields, **base
            )
        )
    state = {name: value for name, value in state.items() if name != "thought"}
    call_ids = [as_text(request.get("toolCallId")) for request in requests]
    return tuple(records), _remember_requests(state, *call_ids)


def _list_tool_requests(data: dict[str, Any]) -> list[dict[str, Any]]:
    requests = data.get("toolRequests")
    requests = requests if isinstance(requests, list) else []
    return [request for request in requests if isinstance(request, dict)]


def _is_last_chunk(data: dict[str, Any]) -> bool:
    """Return whether this is the last or only chunk of the answer."""
    index, count = data.get("chunkIndex"), data.get("chunkCount")
    if not isinstance(index, int) or not isinstance(count, int):
        return True
    return index >= count - 1


def _call_fields(call: dict[str, Any], name_key: str) -> dict[str, str]:
    """Return a call's record fields; `name_key` is the key of the tool's name.

    The arguments are an object, or text that may be JSON.
    """
    arguments = call.get("arguments")
    is_json = isinstance(arguments, str) and _is_json(arguments)
    return {
        "tool_name": as_text(call.get(name_key)),
        "tool_call_id": as_text(call.get("toolCallId")),
        "tool_input": str(arguments) if is_json else to_json(arguments),
    }


def _is_json(text: str) -> bool:
    """Return whether the text is a JSON value other than null."""
    try:
        return json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


def decode_reasoning(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode reasoning; older versions write it here and again in the answer."""
    thought = line.text_field("content")
    record = line.make_record("thinking", "assistant", content=thought)
    return (record,), {**state, "thought": short_digest(thought)}


def decode_tool_start(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode the start of a call, unless an earlier message requested the call."""
    digest = short_digest(line.text_field("toolCallId"))
    # Stored states contain the digests of requested calls under the key `asked`.
    request_digests: list[str] = state.get("asked", [])
    if digest in request_digests:
        other_digests = [other for other in request_digests if other != digest]
        return (), {**state, "asked": other_digests}
    model = line.text_field("model")
    call = _call_fields(line.data, "toolName")
    return (line.make_record("tool_use", "assistant", model=model, **call),), state


def decode_user_command(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a command that the person ran."""
    call = _call_fields(line.data, "toolName")
    arguments = line.data.get("arguments")
    command = as_text(arguments.get("command")) if isinstance(arguments, dict) else ""
    text = f"! {command or call['tool_name'] + ' ' + call['tool_input']}"
    return (_make_user_message(line, text, "shell"),), _remember_requests(
        state, call["tool_call_id"]
    )


def _remember_requests(state: State, *call_ids: str) -> State:
    """Return the state with these calls, so that their start is not decoded again."""
    if not call_ids:
        return state
    digests = [*state.get("asked", []), *map(short_digest, call_ids)]
    return {**state, "asked": digests[-_MAX_REQUESTS:]}


def decode_tool_result(line: CopilotLine, state: State) -> RecordsAndState:
    """Decode a tool result; the result of a person's command is the end of a turn."""
    result, error = line.data.get("result"), line.data.get("error")
    text = flatten_text(result, "content", "detailedContent")
    text = text or flatten_text(error, "message")
    if line.data.get("isUserRequested") is True:
        event = line.make_event("turn_ended", text, note="shell")
        return (replace(event, tool_name=SHELL),), state
    text, metadata = _mark_failure(line, text)
    if report := _find_report(line, text):
        metadata["report"] = report
    record = line.make_record(
        "tool_result",
        "tool",
        content=text,
        tool_call_id=line.text_field("toolCallId"),
        metadata=metadata,
    )
    return (record,), state


def _mark_failure(line: CopilotLine, text: str) -> tuple[str, dict[str, Any]]:
    """Return a result's text and metadata.

    The text of a failed command begins with the exit code.
    """
    if line.data.get("success") is False:
        return text, {"is_error": True}
    match = _FAILED_SHELL.search(text)
    if not match:
        return text, {}
    return mark_exit_code(text[: match.start()], int(match[1]))


def _find_report(line: CopilotLine, text: str) -> str:
    """Return a short form of a result about a subagent; "" for any other result.

    For a subagent in the background, this is the client's sentence about the subagent;
    for a result of `read_agent`, it is the subagent's answers.
    """
    telemetry = line.data.get("toolTelemetry")
    properties = telemetry.get("properties") if isinstance(telemetry, dict) else None
    if not isinstance(properties, dict) or not properties.get("agent_type"):
        return ""
    if properties.get("execution_mode") == "background":
        return text.partition(". ")[0]
    # The result of `read_agent` is a line about the subagent, then its turns.
    return text.partition("\n\n")[2] if _AGENT_STATE.match(text) else ""
