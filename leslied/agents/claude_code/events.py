"""Decode lines that are neither prompt nor answer: events, settings, attachments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import parse_task_notification, parse_time, to_json
from leslied.agents.claude_code.authorship import classify_author, is_command_output
from leslied.agents.claude_code.blocks import message_text
from leslied.agents.claude_code.prompt_queue import (
    add_queued,
    clear_queued,
    mark_delivered,
    pop_queued,
)
from leslied.agents.claude_code.schema import (
    Attachment,
    ClaudeLine,
    ClaudeMessage,
    coerce,
    parse_raw,
    parse_struct,
)
from leslied.model.injected_messages import split_messages
from leslied.model.record import INJECT, MAIN, Record, SessionKey

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.agents.claude_code.prompt_queue import QueueLineKind
    from leslied.model.record import EventKind
    from leslied.model.source import RawEntry

_TITLES = {
    "custom-title": ("custom", "customTitle"),
    "agent-name": ("agent", "agentName"),
    "ai-title": ("ai", "aiTitle"),
    "summary": ("summary", "summary"),
}
"""For each line type: the kind of title, and the field that contains it."""
_SYSTEM_KINDS: dict[str, EventKind] = {
    "compact_boundary": "compacted",
    "microcompact_boundary": "compacted",
    "turn_duration": "turn_ended",
    "stop_hook_summary": "turn_ended",
}
_VERSION = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})*")
_FIRST_VERSION_WITH_REWIND_EVENTS = (2, 1, 325)
"""An earlier version may write them, too; 2.1.197 does not."""
_NOISE_ATTACHMENTS = frozenset({"prompt_snapshot", "deferred_tools_record"})


def make_subagent_link(
    child: SessionKey,
    native_id: str,
    facts: dict[str, Any],
    created_at: datetime | None = None,
) -> Record:
    """Return a record that links a subagent to the call that spawned it."""
    return Record(
        session=child,
        type="system_event",
        role="system",
        native_id=native_id,
        scope=child.session_id,
        created_at=created_at,
        metadata={"kind": "subagent_linked", **facts},
    )


def with_kind(record: Record, kind: EventKind, **facts: Any) -> Record:
    """Return the event with this kind and all facts that are not empty as metadata."""
    present = {name: value for name, value in facts.items() if value not in (None, "")}
    return replace(record, metadata={**record.metadata, "kind": kind, **present})


def make_unknown(entry: RawEntry, line: ClaudeLine, key: SessionKey) -> Record:
    """Return a record with the unchanged text of a line of an unknown type."""
    record = _make_event(line, key, entry.data.decode(errors="replace"))
    return replace(record, type="unknown", metadata={"line_type": line.type or ""})


def decode_system(
    line: ClaudeLine, key: SessionKey, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Return the records of a system line, and the new state.

    A summary of stop hooks does not end the turn if one of the hooks made the agent
    continue.
    """
    records = _decode_system(line, key, state)
    if line.subtype != "stop_hook_summary" or "is_stop_blocked" not in state:
        return records, state
    state = {name: state[name] for name in state if name != "is_stop_blocked"}
    return tuple(with_kind(record, "notice") for record in records), state


def _decode_system(
    line: ClaudeLine, key: SessionKey, state: dict[str, Any]
) -> tuple[Record, ...]:
    """Decode turn ends, compactions, retries, commands and the client's notices."""
    text = flatten_text(parse_raw(line.content))
    record = _make_event(line, key, text)
    if line.subtype == "api_error":
        return (_decode_retry(line, record),)
    if line.subtype == "local_command":
        author = classify_author(line, text, is_subagent=key.source != MAIN)
        if author.origin == "command":
            metadata = {"origin": "command", **find_rewind_facts(line, state)}
            message = replace(record, type="user_message", role="user")
            return (replace(message, content=author.content, metadata=metadata),)
    kind = _SYSTEM_KINDS.get(line.subtype or "", "notice")
    facts: dict[str, Any] = {"note": line.subtype, "level": line.level}
    facts["is_command_output"] = is_command_output(text) or None
    if line.durationMs is not None:
        facts["duration_ms"] = line.durationMs
    if line.subtype == "compact_boundary":
        facts["compaction"] = parse_raw(line.compactMetadata)
        facts["logical_parent"] = line.logicalParentUuid
    if line.subtype == "microcompact_boundary":
        facts["compaction"] = parse_raw(line.microcompactMetadata)
    return (with_kind(record, kind, **facts),)


def find_rewind_facts(line: ClaudeLine, state: dict[str, Any]) -> dict[str, Any]:
    """Return facts that show whether a user's message is the first after a rewind.

    Return an empty dict for a log whose lines do not name their parents.
    """
    if "has_links" not in state:
        return {}
    facts: dict[str, Any] = {"is_root": True} if line.parentUuid is None else {}
    if _VERSION.fullmatch(line.version or ""):
        version = tuple(map(int, (line.version or "").split(".")))
        if version >= _FIRST_VERSION_WITH_REWIND_EVENTS:
            facts["has_rewind_events"] = True
    return facts


def decode_rewind(line: ClaudeLine, key: SessionKey) -> Record:
    """Decode the line that follows the first message after a rewind."""
    return with_kind(_make_event(line, key, ""), "rewound", note="rewind")


def _decode_retry(line: ClaudeLine, record: Record) -> Record:
    """Decode an API error after which the client tries again."""
    error = parse_raw(line.error)
    reason = _find_reason(error) if isinstance(error, dict) else ""
    text = f"API error{f': {reason}' if reason else ''}"
    if line.retryAttempt is not None:
        text += f" (attempt {line.retryAttempt} of {line.maxRetries})"
    metadata = {"error": error, "note": "api_error"}
    return replace(record, type="error", content=text, metadata=metadata)


def _find_reason(error: dict[str, Any]) -> str:
    """Return why a request failed, on one line; older clients nest the reason."""
    nested, cause = error, error.get("cause")
    while isinstance(nested.get("error"), dict):
        nested = nested["error"]
    code = cause.get("code") if isinstance(cause, dict) else ""
    details = (error.get("status"), nested.get("message") or code)
    reason = error.get("formatted") or " ".join(str(d) for d in details if d)
    return " ".join(str(reason).split())


def decode_setting(line: ClaudeLine, key: SessionKey) -> tuple[Record, ...]:
    """Decode a title, mode, cost or link; return nothing for an unknown type."""
    record = _make_event(line, key, "")
    if line.type in _TITLES:
        title_kind, field = _TITLES[line.type]
        title = getattr(line, field) or ""
        event = replace(record, content=title)
        return (with_kind(event, "title", title_kind=title_kind, leaf=line.leafUuid),)
    match line.type:
        case "mode":
            return (with_kind(record, "context", mode=line.mode),)
        case "permission-mode":
            mode = line.permissionMode
            return (with_kind(record, "context", permission_mode=mode),)
        case "worktree-state":
            worktree = parse_raw(line.worktreeSession)
            return (with_kind(record, "context", worktree=worktree),)
        case "cost-state":
            return (
                with_kind(record, "notice", note="cost", cost_usd=line.totalCostUSD),
            )
        case "pr-link":
            event = replace(record, content=line.prUrl or "")
            return (with_kind(event, "notice", note="pr-link"),)
        case _:
            return ()


def decode_attachment(
    line: ClaudeLine, key: SessionKey, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any], str]:
    """Decode an attachment: text that the client added, or a prompt typed mid-turn.

    Return the records, the new state, and the kind of noise, or "".
    """
    attachment = parse_struct(line.attachment, Attachment)
    kind = attachment.type or ""
    if kind in _NOISE_ATTACHMENTS:
        return (), state, f"attachment/{kind}"
    record = _make_event(line, key, "")
    if kind == "queued_command":
        text = message_text(ClaudeMessage(content=attachment.prompt))
        record = replace(record, content=text)
        return *_decode_queued_prompt(line, record, state, "attachment"), ""
    text = attachment.text or flatten_text(parse_raw(attachment.content))
    path = attachment.displayPath or attachment.filename or attachment.planFilePath
    hook = attachment.hookName or attachment.hookEvent
    event_kind: EventKind = "notice" if kind.startswith("hook_") else "context"
    event = with_kind(record, event_kind, note=kind, path=path, hook=hook)
    return _split_injected(replace(event, content=text)), state, ""


def _split_injected(event: Record) -> tuple[Record, ...]:
    """Split the messages of `leslied inject` from other text that a hook added."""
    text, messages = split_messages(event.content)
    if not messages:
        return (event,)
    injected = replace(event, block=1, content="\n\n".join(messages), tool_name=INJECT)
    return (replace(event, content=text), injected) if text else (injected,)


def decode_queue(
    line: ClaudeLine, key: SessionKey, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Decode a queue operation; `remove` means that the agent got it during a turn."""
    content = parse_raw(line.content)
    text = message_text(coerce({"content": content}, ClaudeMessage))
    record = _make_event(line, key, text)
    if line.operation == "enqueue":
        author = classify_author(line, text, is_subagent=key.source != MAIN)
        if author.origin and text:
            state = add_queued(state, text)
    elif line.operation == "popAll":
        state = clear_queued(state)
    elif line.operation == "remove":
        text, state = pop_queued(state, text if content else None)
        if text:
            return _decode_queued_prompt(
                line, replace(record, content=text), state, "remove"
            )
    note = f"queue/{line.operation}"
    return (with_kind(record, "notice", note=note),), state


def _decode_queued_prompt(
    line: ClaudeLine, record: Record, state: dict[str, Any], line_kind: QueueLineKind
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """Decode a prompt typed mid-turn; a second line that reports it is a notice."""
    author = classify_author(
        line, record.content, is_subagent=record.session.source != MAIN
    )
    if not author.origin:
        # Two lines may report a notification; only the attachment is always there.
        is_attachment = line_kind == "attachment"
        facts = parse_task_notification(record.content) if is_attachment else {}
        return (with_kind(record, "notice", note="queued", **facts),), state
    is_first, state = mark_delivered(state, record.content, line_kind)
    if not is_first:
        return (with_kind(record, "notice", note="queued-again"),), state
    metadata = {"origin": "queued"}
    message = replace(record, type="user_message", role="user", metadata=metadata)
    return (message,), state


def flatten_text(value: Any) -> str:
    """Return the text of a string or a list of blocks; other values become JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part for item in value if (part := _flatten_item(item)))
    return to_json(value)


def _flatten_item(item: Any) -> str:
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        return str(item["text"])
    return flatten_text(item)


def _make_event(line: ClaudeLine, key: SessionKey, text: str) -> Record:
    return Record(
        session=key,
        type="system_event",
        role="system",
        content=text,
        native_id=line.uuid or "",
        created_at=parse_time(line.timestamp),
        parent_id=line.parentUuid or "",
    )
