"""Decode one line of a Claude Code log, or one metadata file, into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import (
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.agents.claude_code import events, messages
from leslied.agents.claude_code.routing import (
    detect_context_change,
    find_parent,
    mark_skipped,
    route_line,
)
from leslied.agents.claude_code.schema import (
    ClaudeLine,
    ProgressData,
    SubagentMeta,
    coerce,
    parse_line,
    parse_struct,
)
from leslied.model.record import DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from leslied.model.source import RawEntry

NOISE = frozenset(
    {
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "bridge-session",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "tools-used",
        "agent-color",
    }
)
"""Types of lines that repeat other lines or serve only the client."""


def decode_line(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode one line of a session's or subagent's log."""
    line = parse_line(entry.data)
    if entry.is_fragment and not _is_entry(line):
        reject_entry("a fragment that is not an entry")
    is_rewind = line.type == "last-prompt" and line.explicit
    if line.type in NOISE and not is_rewind:
        return DecodeResult(state=state, noise=line.type)
    key, state = route_line(entry.source, line, state)
    if line.parentUuid:
        line.parentUuid = find_parent(line, state)
    # If lines name their parents, a prompt without one is the first after a rewind.
    if line.parentUuid and "has_links" not in state:
        state = {**state, "has_links": True}
    if line.type == "progress":
        return _decode_progress(line, key, state)
    context_records, state = detect_context_change(line, state)
    records, state, noise = _decode_by_type(entry.data, line, key, state)
    if noise:
        state = mark_skipped(line, state)
    elif not records:
        records = (events.make_unknown(entry, line, key),)
    return DecodeResult(
        records=(*context_records, *records),
        state=state,
        noise=noise,
        cwd=state.get("cwd", ""),
    )


def decode_meta(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode the link between a subagent and the call that spawned it."""
    meta = coerce(parse_object(entry.data), SubagentMeta)
    parts = tuple(map(printable_name, entry.source.parts))
    agent_id = parts[-1].removeprefix("agent-").removesuffix(".meta.json")
    key = SessionKey(entry.source.agent, parts[1], f"subagent:{agent_id}")
    facts = {
        "tool_call_id": meta.toolUseId,
        "parent_agent": meta.parentAgentId,
        "agent_type": meta.agentType,
        "description": meta.description or meta.name,
        "depth": meta.spawnDepth,
        "is_finished": meta.finished,
    }
    facts = {name: value for name, value in facts.items() if value is not None}
    return DecodeResult(
        records=(events.make_subagent_link(key, f"meta:{agent_id}", facts),),
        state=state,
    )


def _is_entry(line: ClaudeLine) -> bool:
    """Return whether an object in a damaged line is an entry, not a part of one."""
    ids = (line.sessionId, line.session_id, line.leafUuid, line.messageId)
    return bool(line.type and (any(ids) or (line.timestamp and line.content)))


def _decode_by_type(
    data: bytes, line: ClaudeLine, key: SessionKey, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any], str]:
    """Return the records, the new state, and the kind of noise, or ""."""
    match line.type:
        case "assistant" if line.message:
            return messages.decode_assistant(line, key, data), state, ""
        case "user" if line.message:
            return *messages.decode_user(line, key, data, state), ""
        case "user" | "assistant" | "tool_use" | "tool_result":
            return messages.decode_flat_line(line, key), state, ""
        case "attachment":
            return events.decode_attachment(line, key, state)
        case "queue-operation":
            return *events.decode_queue(line, key, state), ""
        case "system":
            return *events.decode_system(line, key, state), ""
        case "last-prompt":
            return (events.decode_rewind(line, key),), state, ""
        case _:
            return events.decode_setting(line, key), state, ""


def _decode_progress(
    line: ClaudeLine, key: SessionKey, state: dict[str, Any]
) -> DecodeResult:
    """Decode a subagent's line in its parent's log.

    The records are copies, which are used until the subagent's own log is read.
    """
    progress = parse_struct(line.data, ProgressData)
    inner_line = parse_struct(progress.message, ClaudeLine)
    is_message = progress.type == "agent_progress" and inner_line.message
    if not is_message or not progress.agentId:
        noise = f"progress/{progress.type or 'unknown'}"
        return DecodeResult(state=mark_skipped(line, state), noise=noise)
    inner_line.uuid = inner_line.uuid or line.uuid
    inner_line.timestamp = inner_line.timestamp or line.timestamp
    inner_line.isSidechain = True
    child = SessionKey(key.agent, key.session_id, f"subagent:{progress.agentId}")
    data = bytes(progress.message)
    if inner_line.type == "assistant":
        copies = messages.decode_assistant(inner_line, child, data, is_copy=True)
    else:
        copies, _ = messages.decode_user(inner_line, child, data, {}, is_copy=True)
    records = list(copies)
    if line.parentToolUseID:
        native_id = f"progress:{progress.agentId}"
        facts = {"tool_call_id": line.parentToolUseID}
        records.append(
            events.make_subagent_link(
                child, native_id, facts, parse_time(line.timestamp)
            )
        )
    return DecodeResult(records=tuple(records), state=mark_skipped(line, state))
