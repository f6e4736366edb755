"""Lines that are neither prompt nor answer: events, settings, attachments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._parsing import parse_time, to_json
from leslied.agents.claude_code.blocks import text_of
from leslied.agents.claude_code.queue import (
    clear_queued,
    remember_queued,
    take_queued,
    tell_once,
)
from leslied.agents.claude_code.speakers import hear
from leslied.agents.claude_code.wire import (
    Attachment,
    Line,
    Message,
    coerce,
    parse_as,
    parse_raw,
)
from leslied.model.record import MAIN, Record, SessionKey

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.agents.claude_code.queue import Teller
    from leslied.model.record import EventKind
    from leslied.model.source import RawEntry

_TITLES = {
    "custom-title": ("custom", "customTitle"),
    "agent-name": ("agent", "agentName"),
    "ai-title": ("ai", "aiTitle"),
    "summary": ("summary", "summary"),
}
_SYSTEM_KINDS: dict[str, EventKind] = {
    "compact_boundary": "compacted",
    "microcompact_boundary": "compacted",
    "turn_duration": "turn_ended",
    "stop_hook_summary": "turn_ended",
}
_QUIET_ATTACHMENTS = frozenset({"prompt_snapshot", "deferred_tools_record"})


def link(
    child: SessionKey,
    native_id: str,
    known: dict[str, Any],
    created_at: datetime | None = None,
) -> Record:
    """A record that ties a subagent to the call that spawned it."""
    return Record(
        session=child,
        type="system_event",
        role="system",
        native_id=native_id,
        scope=child.session_id,
        created_at=created_at,
        metadata={"kind": "subagent_linked", **known},
    )


def with_kind(record: Record, kind: EventKind, **more: Any) -> Record:
    """The event with its kind, and what else is known."""
    known = {name: value for name, value in more.items() if value not in (None, "")}
    return replace(record, metadata={**record.metadata, "kind": kind, **known})


def keep_unknown(entry: RawEntry, line: Line, key: SessionKey) -> Record:
    """A line of a type nobody knows yet, kept as it is."""
    record = _event(line, key, entry.data.decode(errors="replace"))
    return replace(record, type="unknown", metadata={"line_type": line.type or ""})


def decode_system(line: Line, key: SessionKey) -> tuple[Record, ...]:
    """Ends of turns, compactions, retries, and what the client had to say."""
    text = flatten(parse_raw(line.content))
    record = _event(line, key, text)
    if line.subtype == "api_error":
        return (_decode_retry(line, record),)
    if line.subtype == "local_command":
        speech = hear(line, text, is_subagent=key.source != MAIN)
        if speech.origin == "command":
            metadata = {"origin": "command"}
            spoken = replace(record, type="user_message", role="user")
            return (replace(spoken, content=speech.content, metadata=metadata),)
    kind = _SYSTEM_KINDS.get(line.subtype or "", "notice")
    more: dict[str, Any] = {"note": line.subtype, "level": line.level}
    if line.durationMs is not None:
        more["duration_ms"] = line.durationMs
    if line.subtype == "compact_boundary":
        more["compaction"] = parse_raw(line.compactMetadata)
        more["logical_parent"] = line.logicalParentUuid
    if line.subtype == "microcompact_boundary":
        more["compaction"] = parse_raw(line.microcompactMetadata)
    return (with_kind(record, kind, **more),)


def _decode_retry(line: Line, record: Record) -> Record:
    error = parse_raw(line.error)
    status = error.get("status") if isinstance(error, dict) else None
    text = f"API error{f' {status}' if status else ''}"
    if line.retryAttempt is not None:
        text += f", attempt {line.retryAttempt} of {line.maxRetries}"
    metadata = {"error": error, "note": "api_error"}
    return replace(record, type="error", content=text, metadata=metadata)


def decode_setting(line: Line, key: SessionKey) -> tuple[Record, ...]:
    """Titles, modes, costs and links: lines with a field or two and often no id."""
    record = _event(line, key, "")
    if line.type in _TITLES:
        title_kind, name = _TITLES[line.type]
        title = getattr(line, name) or ""
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
    line: Line, key: SessionKey, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any], str]:
    """What the client put into the context; a prompt typed in mid-turn among it."""
    attachment = parse_as(line.attachment, Attachment)
    kind = attachment.type or ""
    if kind in _QUIET_ATTACHMENTS:
        return (), state, f"attachment/{kind}"
    record = _event(line, key, "")
    if kind == "queued_command":
        text = text_of(Message(content=attachment.prompt))
        record = replace(record, content=text)
        return *_deliver(line, record, state, "attachment"), ""
    text = attachment.text or flatten(parse_raw(attachment.content))
    path = attachment.displayPath or attachment.filename or attachment.planFilePath
    hook = attachment.hookName or attachment.hookEvent
    event = replace(record, content=text)
    event_kind: EventKind = "notice" if kind.startswith("hook_") else "context"
    return (with_kind(event, event_kind, note=kind, path=path, hook=hook),), state, ""


def decode_queue(
    line: Line, key: SessionKey, state: dict[str, Any]
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """The prompt queue: a removed prompt was handed to the working agent."""
    given = parse_raw(line.content)
    text = text_of(coerce({"content": given}, Message))
    record = _event(line, key, text)
    if line.operation == "enqueue":
        speech = hear(line, text, is_subagent=key.source != MAIN)
        if speech.origin and text:
            state = remember_queued(state, text)
    elif line.operation == "popAll":
        state = clear_queued(state)
    elif line.operation == "remove":
        text, state = take_queued(state, text if given else None)
        if text:
            return _deliver(line, replace(record, content=text), state, "remove")
    note = f"queue/{line.operation}"
    return (with_kind(record, "notice", note=note),), state


def _deliver(
    line: Line, record: Record, state: dict[str, Any], teller: Teller
) -> tuple[tuple[Record, ...], dict[str, Any]]:
    """A prompt typed in mid-turn, once, whichever line brings it first."""
    speech = hear(line, record.content, is_subagent=record.session.source != MAIN)
    if not speech.origin:
        return (with_kind(record, "notice", note="queued"),), state
    is_first, state = tell_once(state, record.content, teller)
    if not is_first:
        return (with_kind(record, "notice", note="queued-again"),), state
    metadata = {"origin": "queued"}
    spoken = replace(record, type="user_message", role="user", metadata=metadata)
    return (spoken,), state


def flatten(value: Any) -> str:
    """Text from a string, a list of blocks, or anything else as JSON."""
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
    return flatten(item)


def _event(line: Line, key: SessionKey, text: str) -> Record:
    return Record(
        session=key,
        type="system_event",
        role="system",
        content=text,
        native_id=line.uuid or "",
        created_at=parse_time(line.timestamp),
        parent_id=line.parentUuid or "",
    )
