"""User and assistant lines: one record per block, one per prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_time, to_json
from leslied.agents.claude_code import events
from leslied.agents.claude_code.blocks import (
    block_text,
    blocks_of,
    json_of,
    placeholder,
    raw_block,
    result_text,
    text_of,
    usage_of,
)
from leslied.agents.claude_code.queue import forget_queued
from leslied.agents.claude_code.speakers import hear
from leslied.agents.claude_code.wire import Block, Line, Message, ToolOutcome, parse_raw
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leslied.model.record import Role

_SAID = "the user said:\n"
_SYNTHETIC = "<synthetic>"
_KNOWN_SPEECH = ("text", "image", "document")


def decode_assistant(
    line: Line, key: SessionKey, data: bytes, *, is_copy: bool = False
) -> tuple[Record, ...]:
    """A record per block; the message's tokens stand on the first of them."""
    message = line.message or Message()
    base = _base(line, key, message, is_copy=is_copy)
    if line.isApiErrorMessage:
        text = text_of(message)
        return (Record(type="error", role="assistant", content=text, **base),)
    if message.model == _SYNTHETIC:
        text = text_of(message)
        record = Record(type="system_event", role="system", content=text, **base)
        return (events.with_kind(record, "notice", note="synthetic"),)
    usage = usage_of(message.usage)
    records = []
    for number, block in enumerate(blocks_of(message) or [Block("text", "")]):
        here = {**base, "block": number, "usage": None if number else usage}
        records.append(_decode_block(block, here, data))
    return tuple(records)


def decode_user(
    line: Line,
    key: SessionKey,
    data: bytes,
    state: dict[str, Any],
    *,
    is_copy: bool = False,
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Tool results one by one; all other blocks together are one prompt or notice."""
    message = line.message or Message()
    base = _base(line, key, message, is_copy=is_copy)
    records: list[Record] = []
    spoken: dict[int, Block] = {}
    for number, block in enumerate(blocks_of(message) or [Block("text", "")]):
        here = {**base, "block": number}
        if block.type == "tool_result" or block.tool_use_id is not None:
            records += _decode_result(line, block, here, data)
        elif block.type in _KNOWN_SPEECH or block.text or block.source:
            spoken[number] = block
        else:
            records.append(_keep_block(block, here, data, "user"))
    if spoken:
        here = {**base, "block": min(spoken)}
        is_beside = any(record.type == "tool_result" for record in records)
        record, state = _decode_speech(
            line, list(spoken.values()), here, state, is_beside=is_beside
        )
        records.append(record)
    return tuple(records), state


def decode_plain(line: Line, key: SessionKey) -> tuple[Record, ...]:
    """A line with its content at the top: the older, simpler log form."""
    types: Mapping[str, Any] = {
        "user": ("user_message", "user"),
        "assistant": ("assistant_message", "assistant"),
        "tool_use": ("tool_use", "assistant"),
        "tool_result": ("tool_result", "tool"),
    }
    kind, role = types[line.type or ""]
    base = _base(line, key, Message(), is_copy=False)
    base |= {"tool_name": line.tool_name or "", "tool_call_id": line.tool_use_id or ""}
    if line.type == "tool_use":
        base["tool_input"] = json_of(line.input) or json_of(line.content)
        return (Record(type=kind, role=role, **base),)
    content = events.flatten(parse_raw(line.content))
    if line.type == "user":
        origin = "prompt" if key.source == MAIN else "task"
        base["metadata"] = {**base["metadata"], "origin": origin}
    return (Record(type=kind, role=role, content=content, **base),)


def _base(
    line: Line, key: SessionKey, message: Message, *, is_copy: bool
) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if line.requestId:
        metadata["request_id"] = line.requestId
    if message.stop_reason:
        metadata["stop_reason"] = message.stop_reason
    return {
        "session": key,
        # A copy is a record of its own: it gives way to the original as a whole.
        "native_id": f"copy:{line.uuid}" if is_copy and line.uuid else line.uuid or "",
        "created_at": parse_time(line.timestamp),
        "model": "" if message.model == _SYNTHETIC else message.model or "",
        "message_id": message.id or "",
        "parent_id": line.parentUuid or "",
        "metadata": metadata,
        "is_copy": is_copy,
    }


def _decode_block(block: Block, base: dict[str, Any], data: bytes) -> Record:
    """One block of an assistant message."""
    kind = block.type or ""
    if kind == "text":
        text = block.text or ""
        return Record(type="assistant_message", role="assistant", content=text, **base)
    if kind in ("thinking", "redacted_thinking"):
        text = block.thinking or ""
        return Record(type="thinking", role="assistant", content=text, **base)
    if kind.endswith("tool_use"):
        return Record(
            type="tool_use",
            role="assistant",
            tool_name=block.name or "",
            tool_call_id=block.id or "",
            tool_input=json_of(block.input),
            **base,
        )
    if kind.endswith("tool_result"):
        base["tool_call_id"] = block.tool_use_id or ""
        text = result_text(block, data, base["block"])
        return Record(type="tool_result", role="tool", content=text, **base)
    if block.source:
        text = placeholder(kind, block.source)
        return Record(type="assistant_message", role="assistant", content=text, **base)
    return _keep_block(block, base, data)


def _keep_block(
    block: Block, base: dict[str, Any], data: bytes, role: Role = "assistant"
) -> Record:
    """A block of a kind nobody knows yet, as it stood."""
    raw = raw_block(data, base["block"])
    text = to_json(raw) if raw is not None else block.text or ""
    base["metadata"] = {**base["metadata"], "block_type": block.type or ""}
    return Record(type="unknown", role=role, content=text, **base)


def _decode_result(
    line: Line, block: Block, base: dict[str, Any], data: bytes
) -> list[Record]:
    """A tool's answer, and the link to a subagent where it names one."""
    metadata = dict(base["metadata"])
    if block.is_error:
        metadata["is_error"] = True
    text = result_text(block, data, base["block"])
    told = line.toolUseResult
    outcome = told if isinstance(told, ToolOutcome) else ToolOutcome()
    if outcome.persistedOutputPath:
        metadata["spill"] = outcome.persistedOutputPath
    elif text.startswith("<persisted-output>") and "saved to: " in text:
        metadata["spill"] = text.partition("saved to: ")[2].split("\n", 1)[0].strip()
    if _SAID in text:
        metadata["user_said"] = text.partition(_SAID)[2].strip()
    call = block.tool_use_id or ""
    base = {**base, "metadata": metadata, "tool_call_id": call}
    records = [Record(type="tool_result", role="tool", content=text, **base)]
    if outcome.agentId and call:
        key: SessionKey = base["session"]
        child = SessionKey(key.agent, key.session_id, f"subagent:{outcome.agentId}")
        native = f"result:{outcome.agentId}"
        known = {"tool_call_id": call}
        records.append(events.link(child, native, known, base["created_at"]))
    return records


def _decode_speech(
    line: Line,
    blocks: list[Block],
    base: dict[str, Any],
    state: dict[str, Any],
    *,
    is_beside: bool,
) -> tuple[Record, dict[str, Any]]:
    """A prompt, or the client's words; a person's words beside a result steer."""
    key: SessionKey = base["session"]
    text = "\n\n".join(filter(None, map(block_text, blocks)))
    speech = hear(line, text, is_subagent=key.source != MAIN)
    if speech.origin is None:
        record = Record(
            type="system_event", role="system", content=speech.content, **base
        )
        kind = speech.kind or "notice"
        return events.with_kind(record, kind, note=speech.note), state
    origin = "queued" if is_beside and speech.origin == "prompt" else speech.origin
    metadata = {**base["metadata"], "origin": origin}
    if speech.note:
        metadata["attached"] = speech.note
    if line.planContent:
        metadata["is_handoff"] = True
    if line.permissionMode:
        metadata["permission_mode"] = line.permissionMode
    if line.promptSource == "sdk":
        metadata["is_program"] = True
    base = {**base, "metadata": metadata}
    record = Record(type="user_message", role="user", content=speech.content, **base)
    # The queue's own line has the words without the pictures beside them.
    words = "\n\n".join(block.text for block in blocks if block.text)
    return record, forget_queued(state, speech.content, words)
