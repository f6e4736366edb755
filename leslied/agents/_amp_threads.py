"""Decode a thread of Amp, a whole conversation, into records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_document,
    parse_file_uri,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.model.record import DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.model.source import RawEntry

_USAGE_BLOCK, _END_BLOCK = 100_000, 100_001
"""Block numbers of the records about a message as a whole."""
_FAILED_STATUSES = frozenset({"error", "cancelled", "rejected-by-user"})
"""Statuses of a call that ended without a result."""


def decode_thread(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode the thread and all its messages."""
    thread = parse_document(entry.data)
    if not isinstance(thread.get("messages"), list):
        reject_entry("a thread without messages")
    stem = printable_name(entry.source.path.stem)
    id_ = as_text(thread.get("id")) or stem
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, id_),
        native_id="thread",
        scope=id_,
        created_at=parse_time(thread.get("created")),
    )
    folder = _find_folder(thread)
    records = [*_decode_header(log_entry, thread, folder)]
    records += _decode_messages(log_entry, thread["messages"])
    return DecodeResult(records=tuple(records), state=state, cwd=folder)


def _find_folder(thread: dict[str, Any]) -> str:
    """Return the folder in which the thread began."""
    environment = as_dict(as_dict(thread.get("env")).get("initial"))
    trees = as_list(environment.get("trees"))
    return as_folder(parse_file_uri(as_dict(trees[0]).get("uri"))) if trees else ""


def _decode_header(
    log_entry: LogEntry, thread: dict[str, Any], folder: str
) -> Iterator[Record]:
    yield log_entry.make_event("opened", cwd=folder)
    if title := as_text(thread.get("title")).strip():
        # Each title has its own id, so that a repeated title is stored once.
        event = log_entry.make_event("title", title, title_kind="ai")
        yield replace(event, native_id=f"title:{title}")


def _decode_messages(log_entry: LogEntry, messages: list[Any]) -> Iterator[Record]:
    """Decode all messages; one without a time has that of the message before it."""
    time, tool_names, ids = log_entry.created_at, dict[str, str](), set[str]()
    for number, value in enumerate(messages):
        message = as_dict(value)
        time = _find_time(message) or time
        native_id = f"{message.get('messageId', f'nth {number}')}"[:100]
        if native_id in ids:
            native_id = f"{native_id} nth {number}"
        ids.add(native_id)
        entry = LogEntry(
            key=log_entry.key,
            native_id=native_id,
            scope=log_entry.scope,
            created_at=time,
            model=as_text(as_dict(message.get("usage")).get("model")),
        )
        yield from _decode_message(entry, value, tool_names)


def _find_time(message: dict[str, Any]) -> datetime | None:
    """Return when a prompt was sent, or a request answered."""
    sent_at = as_dict(message.get("meta")).get("sentAt")
    return parse_time(sent_at) or parse_time(
        as_dict(message.get("usage")).get("timestamp")
    )


def _decode_message(
    entry: LogEntry, value: Any, tool_names: dict[str, str]
) -> Iterator[Record]:
    """Decode a message of the user, which may carry tool results, or of the agent."""
    message = as_dict(value)
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if message.get("role") not in ("user", "assistant") or not isinstance(
        content, list
    ):
        yield entry.make_unknown(value, role=as_text(message.get("role")))
    elif message["role"] == "user":
        yield from _decode_user_message(entry, message, content, tool_names)
    else:
        yield from _decode_answer(entry, message, content, tool_names)


def _decode_user_message(
    entry: LogEntry,
    message: dict[str, Any],
    content: list[Any],
    tool_names: dict[str, str],
) -> Iterator[Record]:
    """Decode results of calls, and a prompt.

    A message with results may have text, too. If the message has a time, a person typed
    the text while the agent worked; otherwise, the client injected it.
    """
    is_result = [as_dict(b).get("type") == "tool_result" for b in content]
    for block, value in enumerate(content):
        if is_result[block]:
            yield from _decode_result(entry, block, value, tool_names)
        elif not isinstance(value, dict) or value.get("type") not in ("text", "image"):
            yield entry.make_unknown(value, block=block)
    texts = [_format_block(as_dict(block)) for block in content]
    text = "\n\n".join(filter(None, texts))
    if text and not any(is_result):
        yield entry.make_prompt(text, block=len(content))
    elif text and as_dict(message.get("meta")).get("sentAt"):
        yield entry.make_prompt(text, block=len(content), origin="queued")
    elif text:
        yield entry.make_event("context", text, block=len(content), note="injected")


def _format_block(block: dict[str, Any]) -> str:
    """Return the text of a block, or a placeholder for an image."""
    if block.get("type") == "image":
        source = as_dict(block.get("source"))
        return format_attachment("image", source.get("mediaType"), source.get("data"))
    return as_text(block.get("text")) if block.get("type") == "text" else ""


def _decode_result(
    entry: LogEntry, block: int, value: dict[str, Any], tool_names: dict[str, str]
) -> Iterator[Record]:
    """Decode the result of a call; a call that still runs has none."""
    run, call_id = as_dict(value.get("run")), as_text(value.get("toolUseID"))
    status = as_text(run.get("status"))
    if "result" not in run and status not in _FAILED_STATUSES:
        return
    name = tool_names.get(call_id, "")
    if status in _FAILED_STATUSES:
        text = _format_failure(run) or status
        yield entry.make_result(name, call_id, text, block=block, is_error=True)
        return
    text, facts = _format_result(run["result"])
    yield entry.make_result(name, call_id, text, block=block, **facts)


def _format_failure(run: dict[str, Any]) -> str:
    error = run.get("error")
    message = as_text(as_dict(error).get("message")) or as_text(error)
    return message or as_text(run.get("reason"))


def _format_result(result: Any) -> tuple[str, dict[str, Any]]:
    """Return a result's text, with a nonzero exit code before it, and its metadata."""
    if isinstance(result, str):
        return result, {}
    fields = as_dict(result)
    for name in ("output", "content", "diff"):
        if isinstance(fields.get(name), str):
            return mark_exit_code(fields[name], fields.get("exitCode"))
    return to_json(result), {}


def _decode_answer(
    entry: LogEntry,
    message: dict[str, Any],
    content: list[Any],
    tool_names: dict[str, str],
) -> Iterator[Record]:
    """Decode texts, thoughts and calls of the agent, its tokens and its turn's end."""
    state = as_dict(message.get("state"))
    reason = as_text(state.get("stopReason"))
    is_end = reason == "end_turn" and state.get("type") == "complete"
    for block, value in enumerate(content):
        yield from _decode_block(entry, block, value, tool_names)
    usage = _parse_usage(as_dict(message.get("usage")))
    if usage:
        request = f"{entry.scope}:{entry.native_id}"
        yield entry.make_usage(usage, request, block=_USAGE_BLOCK)
    if state.get("type") == "cancelled":
        yield entry.make_event("turn_ended", block=_END_BLOCK, note="interrupt")
    elif is_end:
        yield entry.make_event("turn_ended", block=_END_BLOCK, stop_reason=reason)


def _decode_block(
    entry: LogEntry, number: int, value: Any, tool_names: dict[str, str]
) -> Iterator[Record]:
    part = as_dict(value)
    match part.get("type"):
        case "text" | "image":
            if (text := _format_block(part)).strip():
                yield entry.make_answer(text, block=number)
        case "thinking":
            if thought := as_text(part.get("thinking")).strip():
                yield entry.make_thinking(thought, block=number)
        case "redacted_thinking":
            pass
        case "tool_use":
            name, call_id = as_text(part.get("name")), as_text(part.get("id"))
            tool_names[call_id] = name
            arguments = part.get("input")
            yield entry.make_call(name, call_id, arguments, block=number)
        case _:
            yield entry.make_unknown(value, block=number)


def _parse_usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        as_count(usage.get("inputTokens")),
        as_count(usage.get("outputTokens")),
        as_count(usage.get("cacheReadInputTokens")),
        as_count(usage.get("cacheCreationInputTokens")),
    )
