"""Decode user and assistant lines: a record per block, a single one per prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_task_notification, parse_time, to_json
from leslied.agents.claude_code import events
from leslied.agents.claude_code.authorship import classify_author, is_command_output
from leslied.agents.claude_code.blocks import (
    block_text,
    find_raw_block,
    format_placeholder,
    list_blocks,
    message_text,
    parse_usage,
    raw_to_json,
    result_text,
)
from leslied.agents.claude_code.prompt_queue import remove_queued
from leslied.agents.claude_code.reports import find_report, strip_client_notes
from leslied.agents.claude_code.schema import (
    ClaudeLine,
    ClaudeMessage,
    ContentBlock,
    ToolUseResult,
    parse_raw,
)
from leslied.model.record import MAIN, Record, SessionKey
from leslied.sessions.visibility import WARMUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leslied.agents.claude_code.authorship import ClaudeAuthorship
    from leslied.model.record import Role

_USER_COMMENT_MARK = "the user said:\n"
"""Precedes a person's comment in the result of a call that the person rejected."""
_SYNTHETIC_MODEL = "<synthetic>"
"""The model of messages that the client wrote itself."""
_RESUME_RESULT_PREFIX = "[Tool call interrupted: the session ended before"
_RESUME_ANSWER = "No response requested."
"""When the client resumes a session that was killed, it adds these: a result for each
call without one, and an answer.
"""
_COMPACT_COMMAND = "/compact"
_USER_BLOCK_TYPES = ("text", "image", "document")


def decode_assistant(
    line: ClaudeLine, key: SessionKey, data: bytes, *, is_copy: bool = False
) -> tuple[Record, ...]:
    """Return one record per block; the first one has the message's token counts."""
    message = line.message or ClaudeMessage()
    base = _common_fields(line, key, message, is_copy=is_copy)
    if line.isApiErrorMessage:
        text = message_text(message)
        return (Record(type="error", role="assistant", content=text, **base),)
    if message.model == _SYNTHETIC_MODEL:
        text = message_text(message)
        record = Record(type="system_event", role="system", content=text, **base)
        is_between_turns = text == _RESUME_ANSWER or None
        return (
            events.with_kind(
                record, "notice", note="synthetic", is_between_turns=is_between_turns
            ),
        )
    usage = parse_usage(message.usage)
    records = []
    for number, block in enumerate(list_blocks(message) or [ContentBlock("text", "")]):
        fields = {**base, "block": number, "usage": None if number else usage}
        records.append(_decode_block(block, fields, data))
    return tuple(records)


def decode_user(
    line: ClaudeLine,
    key: SessionKey,
    data: bytes,
    state: dict[str, Any],
    *,
    is_copy: bool = False,
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Return the records of a user line, and the new state.

    Each tool result is a record; all text and images together are one prompt or notice.
    """
    message = line.message or ClaudeMessage()
    base = _common_fields(line, key, message, is_copy=is_copy)
    records: list[Record] = []
    text_blocks: dict[int, ContentBlock] = {}
    for number, block in enumerate(list_blocks(message) or [ContentBlock("text", "")]):
        fields = {**base, "block": number}
        if block.type == "tool_result" or block.tool_use_id is not None:
            records += _decode_result(line, block, fields, data)
        elif block.type in _USER_BLOCK_TYPES or block.text or block.source:
            text_blocks[number] = block
        else:
            records.append(_make_unknown_block(block, fields, data, "user"))
    if text_blocks:
        fields = {**base, "block": min(text_blocks)}
        has_results = any(record.type == "tool_result" for record in records)
        record, state = _decode_user_text(
            line, list(text_blocks.values()), fields, state, has_results=has_results
        )
        records.append(record)
        if record.metadata.get("note") == "warmup":
            facts = {"agent_type": WARMUP, "description": record.content}
            native_id = f"warmup:{key.subagent_id}"
            records.append(events.make_subagent_link(key, native_id, facts))
    return tuple(records), state


def decode_flat_line(line: ClaudeLine, key: SessionKey) -> tuple[Record, ...]:
    """Decode a line of the older format, with its content at the top level."""
    types: Mapping[str, Any] = {
        "user": ("user_message", "user"),
        "assistant": ("assistant_message", "assistant"),
        "tool_use": ("tool_use", "assistant"),
        "tool_result": ("tool_result", "tool"),
    }
    record_type, role = types[line.type or ""]
    base = _common_fields(line, key, ClaudeMessage(), is_copy=False)
    base |= {"tool_name": line.tool_name or "", "tool_call_id": line.tool_use_id or ""}
    if line.type == "tool_use":
        base["tool_input"] = raw_to_json(line.input) or raw_to_json(line.content)
        return (Record(type=record_type, role=role, **base),)
    content = events.flatten_text(parse_raw(line.content))
    if line.type == "user":
        origin = "prompt" if key.source == MAIN else "task"
        base["metadata"] = {**base["metadata"], "origin": origin}
    return (Record(type=record_type, role=role, content=content, **base),)


def _common_fields(
    line: ClaudeLine, key: SessionKey, message: ClaudeMessage, *, is_copy: bool
) -> dict[str, Any]:
    """Return the fields that all records of a line share."""
    metadata: dict[str, Any] = {}
    if line.requestId:
        metadata["request_id"] = line.requestId
    if message.stop_reason:
        metadata["stop_reason"] = message.stop_reason
    return {
        "session": key,
        # A copy has an id of its own, so that the original can replace it.
        "native_id": f"copy:{line.uuid}" if is_copy and line.uuid else line.uuid or "",
        "created_at": parse_time(line.timestamp),
        "model": "" if message.model == _SYNTHETIC_MODEL else message.model or "",
        "message_id": message.id or "",
        "parent_id": line.parentUuid or "",
        "metadata": metadata,
        "is_copy": is_copy,
    }


def _decode_block(block: ContentBlock, base: dict[str, Any], data: bytes) -> Record:
    """Decode a block of an assistant message; `base` has the record's other fields."""
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
            tool_input=raw_to_json(block.input),
            **base,
        )
    if kind.endswith("tool_result"):
        call_id = block.tool_use_id or ""
        text = result_text(block, data, base["block"])
        return Record(
            type="tool_result", role="tool", content=text, tool_call_id=call_id, **base
        )
    if block.source:
        text = format_placeholder(kind, block.source)
        return Record(type="assistant_message", role="assistant", content=text, **base)
    return _make_unknown_block(block, base, data)


def _make_unknown_block(
    block: ContentBlock, base: dict[str, Any], data: bytes, role: Role = "assistant"
) -> Record:
    """Return a record with the unchanged JSON of a block of an unknown kind."""
    raw = find_raw_block(data, base["block"])
    text = to_json(raw) if raw is not None else block.text or ""
    metadata = {**base["metadata"], "block_type": block.type or ""}
    fields = {**base, "metadata": metadata}
    return Record(type="unknown", role=role, content=text, **fields)


def _decode_result(
    line: ClaudeLine, block: ContentBlock, base: dict[str, Any], data: bytes
) -> list[Record]:
    """Decode a tool result, and the link to a subagent if it names one."""
    metadata = dict(base["metadata"])
    if block.is_error:
        metadata["is_error"] = True
    text = result_text(block, data, base["block"])
    outcome = line.toolUseResult
    if not isinstance(outcome, ToolUseResult):
        outcome = ToolUseResult()
    if outcome.persistedOutputPath:
        metadata["spill"] = outcome.persistedOutputPath
    elif text.startswith("<persisted-output>") and "saved to: " in text:
        metadata["spill"] = text.partition("saved to: ")[2].split("\n", 1)[0].strip()
    if line.toolDenialKind == "interrupted" and text.startswith(_RESUME_RESULT_PREFIX):
        metadata["is_between_turns"] = True
    if _USER_COMMENT_MARK in text:
        metadata["user_said"] = text.partition(_USER_COMMENT_MARK)[2].strip()
    # "report" is the text without the client's additions, if there are any.
    find_shown_text = find_report if _is_from_subagent(line) else strip_client_notes
    if shown_text := find_shown_text(text):
        metadata["report"] = shown_text
    call_id = block.tool_use_id or ""
    base = {**base, "metadata": metadata, "tool_call_id": call_id}
    records = [Record(type="tool_result", role="tool", content=text, **base)]
    if outcome.agentId and call_id:
        key: SessionKey = base["session"]
        child = SessionKey(key.agent, key.session_id, f"subagent:{outcome.agentId}")
        native_id = f"result:{outcome.agentId}"
        facts: dict[str, Any] = {"tool_call_id": call_id}
        if outcome.status == "completed":
            # Logs of older versions have no other sign that a subagent has ended.
            facts["is_finished"] = True
        records.append(
            events.make_subagent_link(child, native_id, facts, base["created_at"])
        )
    return records


def _is_from_subagent(line: ClaudeLine) -> bool:
    """Return whether a result may be a subagent's report.

    In a subagent's log, a result whose line has no `toolUseResult` may be one, too.
    """
    outcome = line.toolUseResult
    if isinstance(outcome, ToolUseResult):
        return bool(outcome.agentId)
    return outcome is None and bool(line.isSidechain)


def _decode_user_text(
    line: ClaudeLine,
    blocks: list[ContentBlock],
    base: dict[str, Any],
    state: dict[str, Any],
    *,
    has_results: bool,
) -> tuple[Record, dict[str, Any]]:
    """Decode a prompt or the client's text, and remove a prompt from the queue.

    A prompt next to a tool result was queued. Return the record and the new state.
    """
    text = "\n\n".join(filter(None, map(block_text, blocks)))
    key: SessionKey = base["session"]
    author = classify_author(line, text, is_subagent=key.source != MAIN)
    if author.origin is None:
        base = {**base, "content": author.content, "tool_name": author.tool_name}
        record = Record(type="system_event", role="system", **base)
        kind, is_output = author.kind or "notice", is_command_output(text) or None
        facts: dict[str, Any] = {"note": author.note, "is_command_output": is_output}
        facts |= parse_task_notification(text)
        if author.note == "stop_blocked":
            state = {**state, "is_stop_blocked": True}
        return events.with_kind(record, kind, **facts), state
    origin = "queued" if has_results and author.origin == "prompt" else author.origin
    metadata = {
        **base["metadata"],
        "origin": origin,
        **_find_prompt_facts(line, author),
    }
    if origin in ("prompt", "command", "shell"):
        metadata |= events.find_rewind_facts(line, state)
    base = {**base, "metadata": metadata}
    record = Record(type="user_message", role="user", content=author.content, **base)
    # A queue operation has the text without placeholders for images; try both.
    plain_text = "\n\n".join(block.text for block in blocks if block.text)
    return record, remove_queued(state, author.content, plain_text)


def _find_prompt_facts(line: ClaudeLine, author: ClaudeAuthorship) -> dict[str, Any]:
    """Return the metadata of a prompt or command besides its origin."""
    facts: dict[str, Any] = {}
    if author.attached:
        facts["attached"] = author.attached
    if author.origin == "command" and author.content.split()[:1] == [_COMPACT_COMMAND]:
        facts["asks_for"] = "compacted"
    if line.planContent:
        # The client sent an accepted plan as the first prompt of a new session.
        facts["is_handoff"] = True
    if line.permissionMode:
        facts["permission_mode"] = line.permissionMode
    if line.promptSource == "sdk":
        # A program sent the prompt through the SDK.
        facts["is_program"] = True
    return facts
