"""User and assistant lines: one record per block, one per prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_time, tell_size, to_json
from leslied.agents.claude_code import events
from leslied.agents.claude_code.queue import forget_queued
from leslied.agents.claude_code.speakers import hear
from leslied.agents.claude_code.wire import (
    Block,
    Line,
    Message,
    Payload,
    ToolOutcome,
    parse_raw,
)
from leslied.model.record import MAIN, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Raw

    from leslied.agents.claude_code.wire import Part, Tokens

_SAID = "the user said:\n"
_LINK_BLOCK = 901


def decode_assistant(
    line: Line, key: SessionKey, *, is_copy: bool = False
) -> tuple[Record, ...]:
    """A record per block; the message's tokens stand on the first of them."""
    message = line.message or Message()
    base = _base(line, key, message, is_copy=is_copy)
    if line.isApiErrorMessage:
        return (
            Record(type="error", role="assistant", content=_text_of(message), **base),
        )
    if message.model == "<synthetic>":
        record = Record(
            type="system_event", role="system", content=_text_of(message), **base
        )
        return (events.with_kind(record, "notice", note="synthetic"),)
    content = message.content
    blocks = content if isinstance(content, list) else [Block("text", content or "")]
    usage = _usage(message.usage)
    records = []
    for number, block in enumerate(blocks or [Block("text", "")]):
        first = {"usage": usage} if number == 0 else {}
        records.append(_decode_block(block, {**base, "block": number, **first}))
    return tuple(records)


def decode_user(
    line: Line, key: SessionKey, state: dict[str, Any], *, is_copy: bool = False
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Tool results one by one; all other blocks together are one prompt or notice."""
    message = line.message or Message()
    base = _base(line, key, message, is_copy=is_copy)
    content = message.content
    blocks = content if isinstance(content, list) else [Block("text", content or "")]
    records: list[Record] = []
    for number, block in enumerate(blocks):
        if block.tool_use_id is not None:
            records += _decode_result(line, block, {**base, "block": number})
    spoken = [block for block in blocks if block.tool_use_id is None]
    if spoken or not blocks:
        record, state = _decode_speech(line, spoken, base, state)
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
        base["tool_input"] = _json_of(line.input) or _json_of(line.content)
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
        "native_id": line.uuid or "",
        "created_at": parse_time(line.timestamp),
        "model": message.model or "",
        "message_id": message.id or "",
        "parent_id": line.parentUuid or "",
        "metadata": metadata,
        "is_copy": is_copy,
    }


def _decode_block(block: Block, base: dict[str, Any]) -> Record:
    """One block of an assistant message."""
    kind = block.type or ""
    if kind == "text":
        return Record(
            type="assistant_message", role="assistant", content=block.text or "", **base
        )
    if kind in ("thinking", "redacted_thinking"):
        text = block.thinking or ""
        return Record(type="thinking", role="assistant", content=text, **base)
    if kind.endswith("tool_use"):
        return Record(
            type="tool_use",
            role="assistant",
            tool_name=block.name or "",
            tool_call_id=block.id or "",
            tool_input=_json_of(block.input),
            **base,
        )
    if kind.endswith("tool_result"):
        call = block.tool_use_id or ""
        text = _result_text(block)
        return Record(
            type="tool_result", role="tool", content=text, tool_call_id=call, **base
        )
    if block.source:
        text = _placeholder(kind, block.source)
        return Record(type="assistant_message", role="assistant", content=text, **base)
    base["metadata"] = {**base["metadata"], "block_type": kind}
    text = block.text or ""
    return Record(type="unknown", role="assistant", content=text, **base)


def _decode_result(line: Line, block: Block, base: dict[str, Any]) -> list[Record]:
    """A tool's answer, and the link to a subagent where it names one."""
    metadata = dict(base["metadata"])
    if block.is_error:
        metadata["is_error"] = True
    text = _result_text(block)
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
    if outcome.agentId:
        key: SessionKey = base["session"]
        child = SessionKey(key.agent, key.session_id, f"subagent:{outcome.agentId}")
        native = f"result:{outcome.agentId}"
        known = {"tool_call_id": call}
        records.append(events.link(child, native, known, base["created_at"]))
    return records


def _decode_speech(
    line: Line, blocks: list[Block], base: dict[str, Any], state: dict[str, Any]
) -> tuple[Record, dict[str, Any]]:
    key: SessionKey = base["session"]
    parts = [_block_text(block) for block in blocks]
    text = "\n\n".join(part for part in parts if part)
    speech = hear(line, text, is_subagent=key.source != MAIN)
    if speech.origin is None:
        record = Record(
            type="system_event", role="system", content=speech.content, **base
        )
        kind = speech.kind or "notice"
        return events.with_kind(record, kind, note=speech.note), state
    metadata = {**base["metadata"], "origin": speech.origin}
    if speech.note:
        metadata["attached"] = speech.note
    if line.planContent:
        metadata["is_handoff"] = True
    if line.permissionMode:
        metadata["permission_mode"] = line.permissionMode
    if line.promptSource == "sdk":
        metadata["is_program"] = True
    record = Record(
        type="user_message",
        role="user",
        content=speech.content,
        **{**base, "metadata": metadata},
    )
    return record, forget_queued(state, speech.content)


def _text_of(message: Message) -> str:
    content = message.content
    if isinstance(content, list):
        return "\n\n".join(_block_text(block) for block in content)
    return content or ""


def _block_text(block: Block) -> str:
    if block.source:
        return _placeholder(block.type or "file", block.source)
    return block.text or ""


def _result_text(block: Block) -> str:
    content = block.content
    if content is None:
        return block.text or ""
    if isinstance(content, str):
        return content
    return "\n".join(_part_text(part) for part in content)


def _part_text(part: Part) -> str:
    if part.source:
        return _placeholder(part.type or "file", part.source)
    if part.tool_name:
        return f"[tool {part.tool_name}]"
    return part.text or ""


def _placeholder(kind: str, source: Payload) -> str:
    """What stands for an image or document: its type and size."""
    encoded = len(memoryview(source.data)) - 2
    size = max(encoded, 0)
    if source.type == "base64":
        size = size * 3 // 4
    return f"[{kind} {source.media_type or source.type or 'data'}, {tell_size(size)}]"


def _json_of(raw: Raw) -> str:
    """The JSON text as it stood in the log, or made anew where it was damaged."""
    text = bytes(raw).decode(errors="replace")
    if "\\ud" in text or "\\uD" in text:
        return to_json(parse_raw(raw))
    return text


def _usage(tokens: Tokens | None) -> Usage | None:
    if tokens is None:
        return None
    usage = Usage(
        tokens.input_tokens or 0,
        tokens.output_tokens or 0,
        tokens.cache_read_input_tokens or 0,
        tokens.cache_creation_input_tokens or 0,
    )
    return usage or None
