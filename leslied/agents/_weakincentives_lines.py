"""Decode weakincentives entries; `docs/formats/weakincentives.md` documents them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

from leslied.agents._entry import LogEntry, as_count, as_dict, as_folder, as_text
from leslied.agents._parsing import parse_object, parse_time, reject_entry, to_json
from leslied.model.record import (
    MAIN,
    DecodeResult,
    EventKind,
    Origin,
    RecordType,
    Role,
    SessionKey,
    Usage,
)

if TYPE_CHECKING:
    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_FACTS = frozenset(
    [
        "kind",
        "note",
        "origin",
        "stop_reason",
        "is_error",
        "exit_code",
        "cwd",
        "version",
        "title_kind",
        "report",
        "notification",
        "request_id",
        "permission_mode",
        "tool_call_id",
        "agent_type",
        "description",
        "parent_agent",
        "is_between_turns",
        "is_unanswered",
        "is_side",
        "is_command_output",
        "is_sum",
        "leaf",
        "ordinal",
        "to",
        "attached",
        "effort",
        "forked_from",
    ]
)
"""Names of the metadata in leslied's exports that other parts of leslied use."""
_TYPES = {"system": "system_event", "user": "user_message", "tool": "tool_result"}
"""Types of entries that do not state theirs, by role."""
_MAX_ID_LENGTH = 100


def find_identity(fields: dict[str, Any]) -> str:
    """Return an id of the transcript with this first entry; "" for anything else.

    If the entry has no id, return the kind of the transcript: `slice` or `bundle`.
    """
    if is_entry(fields):
        return _find_session(fields) or as_text(fields.get("entry_id")) or "slice"
    envelope = _get_envelope(fields)
    return (as_text(envelope.get("session_id")) or "bundle") if envelope else ""


def is_entry(fields: dict[str, Any]) -> bool:
    """Return whether the object is an entry of a slice."""
    is_named = as_text(fields.get("__type__")).endswith("TranscriptEntry")
    return is_named or all(n in fields for n in ("role", "content", "created_at"))


def decode_line(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode one line: an entry of a slice, or a log record of a bundle."""
    line = parse_object(entry.data)
    if envelope := _get_envelope(line):
        return _decode_envelope(entry, envelope, state)
    if entry.is_fragment and not is_entry(line):
        reject_entry("a fragment that is not an entry")
    session_id = _find_session(line) or as_text(state.get("session"))
    session_id = session_id or as_text(line.get("entry_id")) or "slice"
    log_entry = LogEntry(
        key=_make_key(entry.source.agent, session_id, as_text(line.get("source"))),
        native_id=as_text(line.get("entry_id")),
        created_at=parse_time(line.get("created_at")),
    )
    record = _decode_entry(log_entry, line) if is_entry(line) else None
    state = {**state, "session": session_id[:_MAX_ID_LENGTH]}
    if record and (cwd := as_folder(record.metadata.get("cwd"))):
        state["cwd"] = cwd
    records = (record or log_entry.make_unknown(entry.data),)
    return DecodeResult(records=records, state=state, cwd=state.get("cwd", ""))


def _find_session(line: dict[str, Any]) -> str:
    """Return the session that an entry names, or ""."""
    metadata = as_dict(line.get("metadata"))
    names = ("session_id", "claude_session_id")
    return next(filter(None, (as_text(metadata.get(name)) for name in names)), "")


def _make_key(agent: str, session_id: str, source: str) -> SessionKey:
    is_subagent = source.startswith("subagent:") and source != "subagent:"
    return SessionKey(agent, session_id, source if is_subagent else MAIN)


def _decode_entry(log_entry: LogEntry, line: dict[str, Any]) -> Record | None:
    """Decode an entry of a slice; return None if its type is unknown."""
    metadata = as_dict(line.get("metadata"))
    role, text = as_text(line.get("role")), as_text(line.get("content"))
    tool_input = line.get("tool_input")
    type_ = as_text(metadata.get("entry_type")) or _find_type(role, tool_input)
    if type_ not in get_args(RecordType):
        return None
    facts = {name: metadata[name] for name in metadata if name in _FACTS}
    # For a record without a time, the export has the time at which leslied read it.
    has_own_time = not metadata.get("is_time_observed")
    is_call = type_ == "tool_use"
    if type_ == "system_event" and facts.get("kind") not in get_args(EventKind):
        facts["kind"] = "context"
    if type_ == "user_message" and facts.get("origin") not in get_args(Origin):
        facts["origin"] = "prompt" if log_entry.key.source == MAIN else "task"
    return log_entry.make_record(
        cast("RecordType", type_),
        cast("Role", role if role in get_args(Role) else "system"),
        content="" if is_call else text,
        created_at=log_entry.created_at if has_own_time else None,
        tool_name=as_text(line.get("tool_name")),
        tool_call_id=as_text(line.get("tool_call_id")),
        tool_input=to_json(tool_input) if is_call else "",
        model=as_text(metadata.get("model")),
        usage=_parse_usage(metadata.get("usage")),
        message_id=as_text(metadata.get("message_id")),
        metadata=facts,
    )


def _find_type(role: str, tool_input: object) -> str:
    """Return the type of an entry that has only a role."""
    if role == "assistant":
        return "assistant_message" if tool_input is None else "tool_use"
    return _TYPES.get(role, "")


def _parse_usage(value: object) -> Usage | None:
    fields = as_dict(value)
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return Usage(*(as_count(fields.get(name)) for name in names)) or None


def _get_envelope(line: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the sequence number: the log record or its `context`.

    Return an empty dict if neither has one.
    """
    for fields in (line, as_dict(line.get("context"))):
        if "entry_type" in fields and "sequence_number" in fields:
            return fields
    return {}


def _decode_envelope(
    entry: RawEntry, envelope: dict[str, Any], state: dict[str, Any]
) -> DecodeResult:
    """Decode a log record in an envelope with a sequence number."""
    session_id = as_text(envelope.get("session_id")) or as_text(state.get("session"))
    session_id = session_id or as_text(envelope.get("prompt_name")) or "bundle"
    source = as_text(envelope.get("source"))
    log_entry = LogEntry(
        key=_make_key(entry.source.agent, session_id, source),
        native_id=f"{source}:{as_count(envelope.get('sequence_number'))}",
        scope=session_id,
        created_at=parse_time(envelope.get("timestamp")),
    )
    record = _decode_detail(log_entry, envelope, entry.data)
    state = {**state, "session": session_id[:_MAX_ID_LENGTH]}
    return DecodeResult(records=(record,), state=state)


def _decode_detail(
    log_entry: LogEntry, envelope: dict[str, Any], data: bytes
) -> Record:
    detail = as_dict(envelope.get("detail"))
    text = _get_text(detail)
    name, call_id = (as_text(detail.get(n)) for n in ("tool_name", "tool_use_id"))
    match envelope.get("entry_type"):
        case "user_message":
            return log_entry.make_prompt(text)
        case "assistant_message":
            return log_entry.make_answer(text)
        case "thinking":
            return log_entry.make_thinking(text)
        case "tool_use":
            return log_entry.make_call(name, call_id, detail.get("input", {}))
        case "tool_result":
            facts = {"is_error": True} if detail.get("is_error") is True else {}
            return log_entry.make_result(name, call_id, text, **facts)
        case "system_event":
            is_compacted = detail.get("subtype") == "compaction"
            return log_entry.make_event("compacted" if is_compacted else "notice", text)
        case "error":
            return log_entry.make_record("error", "assistant", content=text)
    return log_entry.make_unknown(data)


def _get_text(detail: dict[str, Any]) -> str:
    for name in ("content", "text", "message", "thinking", "output"):
        if isinstance(detail.get(name), str):
            return as_text(detail[name])
    return to_json(detail) if detail else ""
