"""From one Qwen Code line to records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable,
    refuse,
    to_json,
)
from leslied.agents.qwen_code.line import (
    Line,
    call_of,
    dict_of,
    list_of,
    placeholder,
    tell_response,
    text_of,
    usage_of,
)
from leslied.model.record import MAIN, Decoded, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents.qwen_code.line import State
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
"""Subtypes that repeat what stands elsewhere or serve the client alone."""
_EVENTS: dict[str, EventKind] = {
    "agent_launch_prompt": "context",
    "agent_retry": "notice",
    "at_command": "context",
    "background_task_completed": "notice",
    "chat_compression": "compacted",
    "rewind": "rewound",
    "session_approval_mode": "context",
    "session_notes": "notice",
    "turn_result": "turn_ended",
}
_TYPED = ("", "mid_turn_user_message", "realtime_message")
"""Subtypes of user lines that hold a person's words; of all others a program does."""
_RETRIED = (408, 429)
_SERVER_ERROR = 500
_FILES = "--- Content from referenced files ---"
_CONTEXT, _END = 900, 901
"""Block numbers of the records of a changed context, and of a turn's end."""
_LONGEST = {"cwd": 800, "version": 60, "git_branch": 120}


def decode_line(entry: RawEntry, state: State) -> Decoded:
    """What one line of a session or subagent log means."""
    value = parse_object(entry.data)
    if entry.is_fragment and not (value.get("uuid") and value.get("sessionId")):
        refuse("a fragment that is no entry of its own")
    line = Line(
        value=value,
        key=_place(entry),
        native_id=text_of(value.get("uuid")),
        created_at=parse_time(value.get("timestamp")),
    )
    context, state = _notice_context(line, state)
    kind, subtype = text_of(value.get("type")), text_of(value.get("subtype"))
    records = _decode_by_type(line, kind, subtype)
    noise = "" if records or subtype not in NOISE or kind != "system" else subtype
    if not records and not noise:
        raw = entry.data.decode(errors="replace")
        metadata = {"line_type": kind, "subtype": subtype}
        records = (line.record("unknown", "system", content=raw, metadata=metadata),)
    return Decoded(
        records=(*context, *records),
        state=state,
        noise=noise,
        cwd=text_of(state.get("cwd")),
    )


def decode_meta(entry: RawEntry, state: State) -> Decoded:
    """The link between a subagent and the call that spawned it."""
    meta = parse_object(entry.data)
    *_, folder, name = ("", "", *map(printable, entry.source.parts))
    agent_id = name.removeprefix("agent-").removesuffix(".meta.json")
    kind, status = text_of(meta.get("agentType")), text_of(meta.get("status"))
    known: dict[str, Any] = {
        # An agent is named after its type and the call that spawned it.
        "tool_call_id": text_of(meta.get("agentId")).removeprefix(f"{kind}-"),
        "parent_agent": re.sub(r"[^\w-]", "_", text_of(meta.get("parentAgentId"))),
        "agent_type": kind,
        "description": text_of(meta.get("description")),
        "is_finished": True if status and status != "running" else None,
    }
    line = Line(
        value={},
        key=SessionKey(entry.source.agent, folder, f"subagent:{agent_id}"),
        native_id=f"meta:{agent_id}",
        created_at=None,
        scope=folder,
    )
    return Decoded(records=(line.event("subagent_linked", **known),), state=state)


def _decode_by_type(line: Line, kind: str, subtype: str) -> tuple[Record, ...]:
    match kind:
        case "user":
            return _decode_user(line, subtype)
        case "assistant":
            return _decode_assistant(line)
        case "tool_result":
            return (*_decode_results(line), *_decode_cancelling(line))
        case "system":
            return _decode_system(line, subtype)
        case _:
            return ()


def _place(entry: RawEntry) -> SessionKey:
    """The session of a line: its file decides, the line's own id is only a hint."""
    *_, folder, name = ("", *map(printable, entry.source.parts))
    stem = name.removesuffix(".jsonl")
    if not stem.startswith("agent-") or folder == "chats":
        return SessionKey(entry.source.agent, stem)
    return SessionKey(
        entry.source.agent, folder, f"subagent:{stem.removeprefix('agent-')}"
    )


def _notice_context(line: Line, state: State) -> tuple[tuple[Record, ...], State]:
    """A record of what changed around the conversation: folder, branch, version."""
    names = {"cwd": "cwd", "version": "version", "git_branch": "gitBranch"}
    told = {name: text_of(line.value.get(key)) for name, key in names.items()}
    changed = {
        name: value
        for name, value in told.items()
        if value and value != state.get(name) and len(value) <= _LONGEST[name]
    }
    if not changed:
        return (), state
    event = line.event("context" if "cwd" in state else "opened", **changed)
    return (replace(event, block=_CONTEXT),), {**state, **changed}


def _decode_user(line: Line, subtype: str) -> tuple[Record, ...]:
    """A person's words, the task of a subagent, or news for the agent."""
    results = tuple(_decode_results(line))
    text = _tell_prompt(line)
    if not text:
        return results
    is_news = line.value.get("externalInputKind") == "notification"
    if subtype not in _TYPED or is_news:
        return (*results, line.event("notice", text, note=subtype or "notification"))
    origin = "queued" if subtype == "mid_turn_user_message" else "prompt"
    metadata = {"origin": origin if line.key.source == MAIN else "task"}
    spoken = line.record("user_message", "user", content=text, metadata=metadata)
    return (*results, replace(spoken, block=len(line.parts)))


def _tell_prompt(line: Line) -> str:
    """What was typed: not the files that were read because it named them."""
    shown = text_of(line.payload.get("displayText"))
    if shown and not text_of(line.value.get("subtype")):
        return shown
    told = []
    for part in line.parts:
        if _FILES in text_of(part.get("text")):
            break
        told.append(text_of(part.get("text")) or placeholder(part))
    return "\n\n".join(filter(None, told))


def _decode_assistant(line: Line) -> tuple[Record, ...]:
    """A record per part; the message's tokens stand on the first of them."""
    parts = line.parts or [{"text": ""}]
    is_end = line.key.source == MAIN and not any("functionCall" in p for p in parts)
    base: dict[str, Any] = {
        "model": text_of(line.value.get("model")),
        "message_id": line.native_id,
        # A subagent tells its words and its calls in lines of their own.
        "metadata": {"stop_reason": "end_turn"} if is_end else {},
    }
    usage = usage_of(line.value.get("usageMetadata"))
    records = [
        _decode_part(line, part, {**base, "block": number})
        for number, part in enumerate(parts)
    ]
    return (replace(records[0], usage=usage), *records[1:])


def _decode_part(line: Line, part: dict[str, Any], base: dict[str, Any]) -> Record:
    call, text = part.get("functionCall"), part.get("text")
    if isinstance(call, dict):
        return line.record("tool_use", "assistant", **call_of(call), **base)
    if isinstance(text, str):
        type_: RecordType = "thinking" if part.get("thought") else "assistant_message"
        return line.record(type_, "assistant", content=text, **base)
    shown = placeholder(part)
    if shown:
        return line.record("assistant_message", "assistant", content=shown, **base)
    return line.record("unknown", "assistant", content=to_json(part), **base)


def _decode_results(line: Line) -> Iterator[Record]:
    """What the tools answered; pictures beside an answer are told with it."""
    status = dict_of(line.value.get("toolCallResult")).get("status")
    is_speech = line.value.get("type") == "user"
    beside = [] if is_speech else [placeholder(part) for part in line.parts]
    for number, part in enumerate(line.parts):
        told = part.get("functionResponse")
        if not isinstance(told, dict):
            continue
        response = dict_of(told.get("response"))
        text = "\n".join(filter(None, [tell_response(response), *beside]))
        beside = []
        is_error = status in ("error", "cancelled") or (
            "error" in response and "output" not in response
        )
        yield line.record(
            "tool_result",
            "tool",
            content=text,
            tool_name=text_of(told.get("name")),
            tool_call_id=text_of(told.get("id")),
            block=number,
            metadata={"is_error": True} if is_error else {},
        )


def _decode_cancelling(line: Line) -> tuple[Record, ...]:
    """A call that the person cancels ends the turn, and no other line says so."""
    status = dict_of(line.value.get("toolCallResult")).get("status")
    if status != "cancelled" or line.key.source != MAIN:
        return ()
    return (replace(line.event("turn_ended", note="interrupt"), block=_END),)


def _decode_system(line: Line, subtype: str) -> tuple[Record, ...]:
    payload = line.payload
    match subtype:
        case "ui_telemetry":
            return _decode_telemetry(line, dict_of(payload.get("uiEvent")))
        case "custom_title":
            kind = "ai" if payload.get("titleSource") == "auto" else "custom"
            title = text_of(payload.get("customTitle"))
            return (line.event("title", title, title_kind=kind),)
        case "slash_command":
            return (_decode_command(line),)
        case "session_model":
            event = line.event("context", note=subtype)
            return (replace(event, model=text_of(payload.get("modelId"))),)
        case _ if subtype in _EVENTS:
            names = ("displayText", "userText", "message", "text")
            text = next(filter(None, (text_of(payload.get(n)) for n in names)), "")
            mode = text_of(payload.get("mode"))
            kind = _EVENTS[subtype]
            return (line.event(kind, text, note=subtype, permission_mode=mode),)
        case _:
            return ()


def _decode_telemetry(line: Line, told: dict[str, Any]) -> tuple[Record, ...]:
    """Errors stand here only, and so do the tokens of helpers in the background."""
    name = text_of(told.get("event.name")).rpartition(".")[2]
    helper = text_of(told.get("subagent_name"))
    if name == "api_error":
        status = told.get("status_code")
        is_retried = isinstance(status, int) and (
            status in _RETRIED or status >= _SERVER_ERROR
        )
        text = text_of(told.get("error_message")) or "API error"
        role: Role = "system" if helper or is_retried else "assistant"
        metadata = {"note": "api_error", "error_type": text_of(told.get("error_type"))}
        return (line.record("error", role, content=text, metadata=metadata),)
    if name != "api_response" or not helper:
        return ()
    renamed = {
        "promptTokenCount": told.get("input_token_count"),
        "candidatesTokenCount": told.get("output_token_count"),
        "cachedContentTokenCount": told.get("cached_content_token_count"),
        "thoughtsTokenCount": told.get("thoughts_token_count"),
        "totalTokenCount": told.get("total_token_count"),
    }
    record = line.record(
        "token_usage",
        "system",
        usage=usage_of(renamed),
        message_id=text_of(told.get("response_id")),
        model=text_of(told.get("model")),
        metadata={"helper": helper},
    )
    return (record,)


def _decode_command(line: Line) -> Record:
    """A slash command, or what the client showed in answer to it."""
    command = text_of(line.payload.get("rawCommand"))
    if line.payload.get("phase") == "invocation":
        metadata = {"origin": "command"}
        return line.record("user_message", "user", content=command, metadata=metadata)
    items = list_of(line.payload.get("outputHistoryItems"))
    shown = [text_of(item.get("text")) for item in items if isinstance(item, dict)]
    text = "\n".join(filter(None, shown))
    return line.event("turn_ended", text, note="slash_command", command=command)
