"""Decode a message of Goose, or a session, into records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_object,
    parse_time,
    reject_entry,
    to_json,
)
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

_OPENED_BLOCK, _TITLE_BLOCK, _USAGE_BLOCK, _LINK_BLOCK = 900, 901, 902, 903
"""Block numbers of the records about a message's session."""
_DEFAULT_NAMES = ("", "CLI Session", "New Chat", "Delegated task")
"""Names that Goose gives a session before it has a title."""
_COMMAND = re.compile(r"/\w+")
_EXIT_LINE = re.compile(r"\n\nCommand exited with code \d+\Z")
"""Line that Goose adds to the output of a command that failed."""
_NOISE_PARTS = frozenset({"redactedThinking", "toolConfirmationRequest"})
"""Parts whose content is encrypted, or repeated by the call."""


def decode_entry(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a message with its session, or a session alone."""
    value = parse_object(entry.data)
    session = as_dict(value.get("session"))
    if value.get("kind") not in ("message", "session"):
        return _decode_unknown(entry, state)
    if not as_text(session.get("id")):
        reject_entry("an entry without a session")
    log_entry = _make_session_entry(entry.source.agent, value, session)
    records = [*_decode_session(log_entry, value, session)]
    if value["kind"] == "message":
        records += _decode_message(_make_message_entry(log_entry, value), value)
    noise = "" if records else f"{value['kind']} without content"
    cwd = as_text(session.get("directory"))
    return DecodeResult(records=tuple(records), state=state, noise=noise, cwd=cwd)


def _decode_unknown(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    key = SessionKey(entry.source.agent, "unknown")
    text = entry.data.decode(errors="replace")
    record = Record(session=key, type="unknown", role="system", content=text)
    return DecodeResult(records=(record,), state=state)


def _make_session_entry(
    agent: str, value: dict[str, Any], session: dict[str, Any]
) -> LogEntry:
    """Return the fields that the records about the session itself share."""
    id_, root = session["id"], as_text(value.get("root"))
    key = SessionKey(agent, root, f"subagent:{id_}") if root else SessionKey(agent, id_)
    return LogEntry(
        key=key,
        native_id="session",
        scope=id_,
        created_at=parse_time(session.get("created")),
        model=as_text(as_dict(session.get("model")).get("model_name")),
    )


def _make_message_entry(log_entry: LogEntry, value: dict[str, Any]) -> LogEntry:
    number = as_count(value.get("number"))
    native_id = as_text(value.get("id")) or f"row {as_count(value.get('row'))}"
    return LogEntry(
        key=log_entry.key,
        native_id=f"{native_id} {number}" if number else native_id,
        scope=log_entry.scope,
        created_at=parse_time(value.get("created")),
        model=log_entry.model,
    )


def _decode_session(
    log_entry: LogEntry, value: dict[str, Any], session: dict[str, Any]
) -> Iterator[Record]:
    """Decode folder, title and parent with each prompt, and tokens with each answer."""
    is_answer = value.get("role") == "assistant"
    if value["kind"] == "message" and not is_answer:
        folder = as_text(session.get("directory"))
        yield log_entry.make_event("opened", block=_OPENED_BLOCK, cwd=folder)
    name = as_text(session.get("name"))
    if log_entry.key.source != MAIN:
        yield log_entry.make_event(
            "subagent_linked",
            block=_LINK_BLOCK,
            tool_call_id=as_text(value.get("call")),
            description="" if name in _DEFAULT_NAMES else name,
        )
    elif name not in _DEFAULT_NAMES and not is_answer:
        kind = "custom" if session.get("is_named") else "ai"
        # Each title has its own id, so that a repeated title is stored once.
        title = log_entry.make_event("title", name, block=_TITLE_BLOCK, title_kind=kind)
        yield replace(title, native_id=f"title:{name}")
    if value["kind"] == "session" or is_answer:
        yield from _decode_usage(log_entry, session)


def _decode_usage(log_entry: LogEntry, session: dict[str, Any]) -> Iterator[Record]:
    """Decode the tokens of the session: sums, which grow with every request."""
    usage = Usage(as_count(session.get("input")), as_count(session.get("output")))
    if usage:
        record = log_entry.make_usage(
            usage, f"session:{log_entry.scope}", block=_USAGE_BLOCK
        )
        yield replace(record, metadata={"is_sum": True})


def _decode_message(message: LogEntry, value: dict[str, Any]) -> Iterator[Record]:
    """Decode the parts of a message, in their order."""
    content, visibility = value.get("content"), as_dict(value.get("metadata"))
    is_shown = visibility.get("userVisible") is not False
    if not is_shown and visibility.get("agentVisible") is False:
        # This is the original of a message that a compaction repeated under a new id.
        return
    if not isinstance(content, list) or value.get("role") not in ("user", "assistant"):
        yield message.make_unknown(content, role=as_text(value.get("role")))
        return
    if not is_shown:
        yield from _decode_injected(message, content)
    elif value["role"] == "user":
        is_for_agent = visibility.get("agentVisible") is not False
        yield from _decode_prompt(message, content, is_for_agent=is_for_agent)
    is_answer = is_shown and value["role"] == "assistant"
    yield from _decode_parts(message, content, is_answer=is_answer)


def _decode_injected(message: LogEntry, content: list[Any]) -> Iterator[Record]:
    """Decode text that only the agent sees, such as the summary of a compaction."""
    if text := _join_texts(content):
        yield message.make_event("context", text, block=len(content), note="injected")


def _decode_prompt(
    message: LogEntry, content: list[Any], *, is_for_agent: bool
) -> Iterator[Record]:
    """Decode a prompt, or a command for Goose itself, which the agent does not see."""
    if text := _join_texts(content):
        is_command = not is_for_agent and _COMMAND.match(text)
        origin = "command" if is_command else ""
        yield message.make_prompt(text, block=len(content), origin=origin)


def _join_texts(content: list[Any]) -> str:
    """Return the texts of a message, with placeholders for images."""
    texts = [_part_text(as_dict(part)) for part in content]
    return "\n\n".join(filter(None, texts))


def _part_text(part: dict[str, Any]) -> str:
    if part.get("type") == "image":
        return format_attachment("image", part.get("mimeType"), part.get("data"))
    return as_text(part.get("text")) if part.get("type") == "text" else ""


def _decode_parts(
    message: LogEntry, content: list[Any], *, is_answer: bool
) -> Iterator[Record]:
    """Decode the parts of a message; its texts only if it is an answer."""
    types = [as_text(as_dict(part).get("type")) for part in content]
    has_calls = "toolRequest" in types or "frontendToolRequest" in types
    for block, part in enumerate(map(as_dict, content)):
        match types[block]:
            case "text" | "image":
                if is_answer and _part_text(part).strip():
                    # If a message with a call follows, the turn continues after all.
                    reason = "" if has_calls else "end_turn"
                    yield message.make_answer(
                        _part_text(part), block=block, stop_reason=reason
                    )
            case "thinking":
                if thought := as_text(part.get("thinking")).strip():
                    yield message.make_thinking(thought, block=block)
            case "toolRequest" | "frontendToolRequest":
                yield _decode_call(message, block, part)
            case "toolResponse":
                yield _decode_result(message, block, part)
            case "systemNotification":
                note = as_text(part.get("notificationType"))
                text = as_text(part.get("msg"))
                yield message.make_event("notice", text, block=block, note=note)
            case type_ if type_ not in _NOISE_PARTS:
                yield message.make_unknown(content[block], block=block, part_type=type_)


def _decode_call(message: LogEntry, block: int, part: dict[str, Any]) -> Record:
    """Decode a tool call; one that Goose could not parse has an error instead."""
    call = as_dict(part.get("toolCall"))
    request = as_dict(call.get("value"))
    name, call_id = as_text(request.get("name")), as_text(part.get("id"))
    if not name:
        return message.make_call(
            "invalid", call_id, {"error": call.get("error")}, block=block
        )
    arguments = as_dict(request.get("arguments"))
    return message.make_call(name, call_id, arguments, block=block)


def _decode_result(message: LogEntry, block: int, part: dict[str, Any]) -> Record:
    """Decode a call's result; put a failed command's exit code before its output."""
    outcome = as_dict(part.get("toolResult"))
    result = as_dict(outcome.get("value"))
    structured = as_dict(result.get("structuredContent"))
    text = _EXIT_LINE.sub("", _result_text(outcome))
    text, metadata = mark_exit_code(text, structured.get("exit_code"))
    if outcome.get("status") == "error" or result.get("isError") is True:
        metadata = {**metadata, "is_error": True}
    call_id = as_text(part.get("id"))
    return message.make_result("", call_id, text, block=block, **metadata)


def _result_text(outcome: dict[str, Any]) -> str:
    """Return the texts of a result or its error, or else its JSON."""
    value = outcome.get("value")
    parts = as_list(value) or as_list(as_dict(value).get("content"))
    if text := _join_texts(parts):
        return text
    error = outcome.get("error")
    if isinstance(error, str):
        return error
    return to_json(outcome) if error or parts else ""
