"""Decode one line of a Qwen Code log, or one metadata file, into records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import (
    parse_object,
    parse_shell_result,
    parse_task_notification,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.agents.qwen_code.schema import (
    QwenLine,
    as_dict,
    as_list,
    as_text,
    call_fields,
    format_placeholder,
    parse_usage,
    response_text,
)
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents.qwen_code.schema import State
    from leslied.model.record import EventKind, RecordType, Role
    from leslied.model.source import RawEntry

NOISE = frozenset(
    {
        "agent_bootstrap",
        "agent_session_ready",
        "attribution_snapshot",
        "branch_checkpoint",
        "file_history_snapshot",
        "goal_runtime",
        "goal_state",
        "goal_turn_end",
        "parent_session",
        "session_artifact_event",
        "session_artifact_snapshot",
        "session_execution_engine",
        "session_source",
        "session_sources_snapshot",
        "ui_telemetry",
        "user_text_elements",
    }
)
"""Subtypes of system lines that repeat other lines or serve only the client."""
_SYSTEM_EVENTS: dict[str, EventKind] = {
    "agent_launch_prompt": "context",
    "agent_retry": "notice",
    "at_command": "context",
    "background_task_completed": "notice",
    "chat_compression": "compacted",
    "session_approval_mode": "context",
    "session_notes": "notice",
    "turn_result": "turn_ended",
}
"""Kind of the event, for subtypes of system lines that become one event."""
_USER_SUBTYPES = ("", "mid_turn_user_message", "realtime_message")
"""Subtypes of user lines that a person wrote; programs write all others."""
_RETRIED_STATUSES = (408, 429)
"""HTTP statuses after which the client retries, as after all server errors."""
_MIN_SERVER_ERROR_STATUS = 500
_SHELL_TOOL = "run_shell_command"
_STOP_REASONS = {"completed": "end_turn", "failed": "error", "cancelled": "cancelled"}
"""Stop reason of a subagent for the status in its metadata file."""
_ROUND_NOISE = "round"
"""Noise kind of a subagent's line that has only token counts."""
_FILES_HEADING = "--- Content from referenced files ---"
_LAUNCHED = "Background agent launched successfully."
"""Start of the result of a subagent in the background; instructions follow."""
_CONTEXT_BLOCK, _END_BLOCK = 900, 901
"""Block numbers of the records of a changed context and of a turn's end."""
_MAX_FACT_LENGTHS = {"cwd": 800, "version": 60, "git_branch": 120}
"""Longer values are ignored, to keep the decode state small."""


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode one line of a session's or subagent's log."""
    value = parse_object(entry.data)
    if entry.is_fragment and not (value.get("uuid") and value.get("sessionId")):
        reject_entry("a fragment that is not an entry")
    line = QwenLine(
        value=value,
        key=_make_key(entry),
        native_id=as_text(value.get("uuid")),
        created_at=parse_time(value.get("timestamp")),
    )
    context_records, state = _detect_context_change(line, state)
    kind, subtype = as_text(value.get("type")), as_text(value.get("subtype"))
    records = _decode_by_type(line, kind, subtype)
    noise = "" if records else _find_noise(line, kind, subtype)
    if not records and not noise:
        raw = entry.data.decode(errors="replace")
        metadata = {"line_type": kind, "subtype": subtype}
        records = (
            line.make_record("unknown", "system", content=raw, metadata=metadata),
        )
    return DecodeResult(
        records=(*context_records, *records),
        state=state,
        noise=noise,
        cwd=as_text(state.get("cwd")),
    )


def _find_noise(line: QwenLine, kind: str, subtype: str) -> str:
    """Return the kind of noise that a line without records is, or ""."""
    if kind == "system" and subtype in NOISE:
        return subtype
    is_subagent = line.key.source != MAIN
    has_only_tokens = kind == "assistant" and not line.parts and is_subagent
    return _ROUND_NOISE if has_only_tokens else ""


def decode_meta(entry: RawEntry, state: State) -> DecodeResult:
    """Decode the link between a subagent and the call that spawned it."""
    meta = parse_object(entry.data)
    # The empty names pad a path that has fewer than two parts.
    path_parts = ("", "", *map(printable_name, entry.source.parts))
    session_id, file_name = path_parts[-2:]
    agent_id = file_name.removeprefix("agent-").removesuffix(".meta.json")
    agent_type, status = as_text(meta.get("agentType")), as_text(meta.get("status"))
    # In older files, the id of the call is only in that of the agent, after its type.
    call_id = as_text(meta.get("agentId")).removeprefix(f"{agent_type}-")
    facts: dict[str, Any] = {
        "tool_call_id": as_text(meta.get("toolUseId")) or call_id,
        "parent_agent": re.sub(r"[^\w-]", "_", as_text(meta.get("parentAgentId"))),
        "agent_type": agent_type,
        "description": as_text(meta.get("description")),
        "is_finished": True if status and status != "running" else None,
        "stop_reason": _STOP_REASONS.get(status),
    }
    line = QwenLine(
        value={},
        key=SessionKey(entry.source.agent, session_id, f"subagent:{agent_id}"),
        native_id=f"meta:{agent_id}",
        created_at=None,
        scope=session_id,
    )
    return DecodeResult(
        records=(line.make_event("subagent_linked", **facts),), state=state
    )


def _decode_by_type(line: QwenLine, kind: str, subtype: str) -> tuple[Record, ...]:
    """Return the records of a line; nothing for noise and for an unknown type."""
    match kind:
        case "user":
            return _decode_user(line, subtype)
        case "assistant":
            return _decode_assistant(line)
        case "tool_result":
            return (*_decode_results(line), *_decode_cancellation(line))
        case "system":
            return _decode_system(line, subtype)
        case _:
            return ()


def _make_key(entry: RawEntry) -> SessionKey:
    """Return the session of a line, from the path; the id in the line is ignored."""
    folder, file_name = ("", *map(printable_name, entry.source.parts))[-2:]
    stem = file_name.removesuffix(".jsonl")
    if not stem.startswith("agent-") or folder == "chats":
        return SessionKey(entry.source.agent, stem)
    return SessionKey(
        entry.source.agent, folder, f"subagent:{stem.removeprefix('agent-')}"
    )


def _detect_context_change(
    line: QwenLine, state: State
) -> tuple[tuple[Record, ...], State]:
    """Return a record of changed directory, branch or version, and the new state."""
    names = {"cwd": "cwd", "version": "version", "git_branch": "gitBranch"}
    facts = {name: as_text(line.value.get(key)) for name, key in names.items()}
    changed = {
        name: value
        for name, value in facts.items()
        if value and value != state.get(name) and len(value) <= _MAX_FACT_LENGTHS[name]
    }
    if not changed:
        return (), state
    event = line.make_event("context" if "cwd" in state else "opened", **changed)
    return (replace(event, block=_CONTEXT_BLOCK),), {**state, **changed}


def _decode_user(line: QwenLine, subtype: str) -> tuple[Record, ...]:
    """Decode a person's prompt, the task of a subagent, or a notice for the agent."""
    results = tuple(_decode_results(line))
    text = _prompt_text(line)
    if not text:
        return results
    is_notification = line.value.get("externalInputKind") == "notification"
    if subtype not in _USER_SUBTYPES or is_notification:
        facts = parse_task_notification(text)
        note = subtype or "notification"
        return (*results, line.make_event("notice", text, note=note, **facts))
    origin = "queued" if subtype == "mid_turn_user_message" else "prompt"
    metadata = {"origin": origin if line.key.source == MAIN else "task"}
    message = line.make_record("user_message", "user", content=text, metadata=metadata)
    return (*results, replace(message, block=len(line.parts)))


def _prompt_text(line: QwenLine) -> str:
    """Return the typed text, without the contents of referenced files."""
    displayed = as_text(line.payload.get("displayText"))
    if displayed and not as_text(line.value.get("subtype")):
        return displayed
    texts = []
    for part in line.parts:
        if _FILES_HEADING in as_text(part.get("text")):
            break
        texts.append(as_text(part.get("text")) or format_placeholder(part))
    return "\n\n".join(filter(None, texts))


def _decode_assistant(line: QwenLine) -> tuple[Record, ...]:
    """Return one record per part; the first one has the message's token counts.

    The tokens of a subagent are also in the telemetry of its main session, for every
    request and with the model, and are counted there.
    """
    is_main = line.key.source == MAIN
    if not line.parts and not is_main:
        return ()
    parts = line.parts or [{"text": ""}]
    is_turn_end = is_main and not any("functionCall" in p for p in parts)
    base: dict[str, Any] = {
        "model": as_text(line.value.get("model")),
        "message_id": line.native_id,
        # A subagent's text and calls are separate lines, so text does not end its turn.
        "metadata": {"stop_reason": "end_turn"} if is_turn_end else {},
    }
    usage = parse_usage(line.value.get("usageMetadata")) if is_main else None
    records = [
        _decode_part(line, part, {**base, "block": number})
        for number, part in enumerate(parts)
    ]
    return (replace(records[0], usage=usage), *records[1:])


def _decode_part(line: QwenLine, part: dict[str, Any], base: dict[str, Any]) -> Record:
    call, text = part.get("functionCall"), part.get("text")
    if isinstance(call, dict):
        return line.make_record("tool_use", "assistant", **call_fields(call), **base)
    if isinstance(text, str):
        type_: RecordType = "thinking" if part.get("thought") else "assistant_message"
        return line.make_record(type_, "assistant", content=text, **base)
    label = format_placeholder(part)
    if label:
        return line.make_record("assistant_message", "assistant", content=label, **base)
    return line.make_record("unknown", "assistant", content=to_json(part), **base)


def _decode_results(line: QwenLine) -> Iterator[Record]:
    """Decode tool results; the images of a `tool_result` line belong to the first."""
    status = as_dict(line.value.get("toolCallResult")).get("status")
    is_user_line = line.value.get("type") == "user"
    image_labels = (
        [] if is_user_line else [format_placeholder(part) for part in line.parts]
    )
    for number, part in enumerate(line.parts):
        result = part.get("functionResponse")
        if not isinstance(result, dict):
            continue
        response = as_dict(result.get("response"))
        text = "\n".join(filter(None, [response_text(response), *image_labels]))
        image_labels = []
        is_error = status in ("error", "cancelled") or (
            "error" in response and "output" not in response
        )
        metadata: dict[str, Any] = {"is_error": True} if is_error else {}
        if result.get("name") == _SHELL_TOOL:
            text, shell_metadata = parse_shell_result(text)
            metadata |= shell_metadata
        if result.get("name") == "agent" and text.startswith(_LAUNCHED):
            metadata["report"] = _LAUNCHED
        yield line.make_record(
            "tool_result",
            "tool",
            content=text,
            tool_name=as_text(result.get("name")),
            tool_call_id=as_text(result.get("id")),
            block=number,
            metadata=metadata,
        )


def _decode_cancellation(line: QwenLine) -> tuple[Record, ...]:
    """Return the end of the turn if the person cancelled the call.

    No other line reports the cancellation.
    """
    status = as_dict(line.value.get("toolCallResult")).get("status")
    if status != "cancelled" or line.key.source != MAIN:
        return ()
    return (replace(line.make_event("turn_ended", note="interrupt"), block=_END_BLOCK),)


def _decode_system(line: QwenLine, subtype: str) -> tuple[Record, ...]:
    payload = line.payload
    match subtype:
        case "ui_telemetry":
            return _decode_telemetry(line, as_dict(payload.get("uiEvent")))
        case "custom_title":
            title_kind = "ai" if payload.get("titleSource") == "auto" else "custom"
            title = as_text(payload.get("customTitle"))
            return (line.make_event("title", title, title_kind=title_kind),)
        case "slash_command":
            return (_decode_command(line),)
        case "session_model":
            event = line.make_event("context", note=subtype)
            return (replace(event, model=as_text(payload.get("modelId"))),)
        case "rewind":
            # The parent is the last line that remains; if it is null, none remains.
            is_root = True if line.value.get("parentUuid", "") is None else None
            return (line.make_event("rewound", note=subtype, is_root=is_root),)
        case _ if subtype in _SYSTEM_EVENTS:
            names = ("displayText", "userText", "message", "text")
            text = next(filter(None, (as_text(payload.get(n)) for n in names)), "")
            mode = as_text(payload.get("mode"))
            return (
                line.make_event(
                    _SYSTEM_EVENTS[subtype], text, note=subtype, permission_mode=mode
                ),
            )
        case _:
            return ()


def _decode_telemetry(line: QwenLine, event: dict[str, Any]) -> tuple[Record, ...]:
    """Decode errors and background helpers' tokens, which no other line reports."""
    name = as_text(event.get("event.name")).rpartition(".")[2]
    helper = as_text(event.get("subagent_name"))
    if name == "api_error":
        status = event.get("status_code")
        is_retried = isinstance(status, int) and (
            status in _RETRIED_STATUSES or status >= _MIN_SERVER_ERROR_STATUS
        )
        text = as_text(event.get("error_message")) or "API error"
        role: Role = "system" if helper or is_retried else "assistant"
        metadata = {"note": "api_error", "error_type": as_text(event.get("error_type"))}
        return (line.make_record("error", role, content=text, metadata=metadata),)
    if name != "api_response" or not helper:
        return ()
    api_counts = {
        "promptTokenCount": event.get("input_token_count"),
        "candidatesTokenCount": event.get("output_token_count"),
        "cachedContentTokenCount": event.get("cached_content_token_count"),
        "thoughtsTokenCount": event.get("thoughts_token_count"),
        "totalTokenCount": event.get("total_token_count"),
    }
    record = line.make_record(
        "token_usage",
        "system",
        usage=parse_usage(api_counts),
        message_id=as_text(event.get("response_id")),
        model=as_text(event.get("model")),
        metadata={"helper": helper},
    )
    return (record,)


def _decode_command(line: QwenLine) -> Record:
    """Decode a slash command, or its output, which ends the turn."""
    command = as_text(line.payload.get("rawCommand"))
    if line.payload.get("phase") == "invocation":
        metadata = {"origin": "command"}
        return line.make_record(
            "user_message", "user", content=command, metadata=metadata
        )
    items = as_list(line.payload.get("outputHistoryItems"))
    outputs = [as_text(item.get("text")) for item in items if isinstance(item, dict)]
    text = "\n".join(filter(None, outputs))
    return line.make_event("turn_ended", text, note="slash_command", command=command)
