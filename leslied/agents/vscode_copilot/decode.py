"""Decode a chat of VS Code, with all its requests, into records."""

from __future__ import annotations

from dataclasses import replace as copy_entry
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_folder,
    as_list,
    as_text,
    drop_side_file,
    get_side_file,
)
from leslied.agents._parsing import (
    parse_file_uri,
    parse_object,
    parse_time,
    printable_name,
    reject_entry,
)
from leslied.agents.vscode_copilot.change_log import restore_chat
from leslied.agents.vscode_copilot.parts import ResponseDecoder
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

_PENDING, _CANCELLED, _FAILED, _NEEDS_INPUT = 0, 2, 3, 4
"""States of a response; 1 is a complete one."""
_USAGE_BLOCK, _ERROR_BLOCK, _END_BLOCK = 1, 2, 3
"""Block numbers of the records about a request as a whole."""


def decode_chat(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a chat from its document, or from its log of changes."""
    chat = restore_chat(_join_lines(entry))
    if not isinstance(chat, dict) or not isinstance(chat.get("requests"), list):
        reject_entry("a chat without requests")
    id_ = as_text(chat.get("sessionId")) or printable_name(entry.source.path.stem)
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, id_),
        native_id="chat",
        scope=id_,
        created_at=parse_time(chat.get("creationDate")),
    )
    folder = _parse_workspace(get_side_file(state))
    records = [*_decode_header(log_entry, chat, folder)]
    ids: set[str] = set()
    for number, value in enumerate(chat["requests"]):
        request = as_dict(value)
        native_id = as_text(request.get("requestId"))
        if not native_id or native_id in ids:
            native_id = f"{native_id} nth {number}"
        ids.add(native_id)
        request_entry = _make_request_entry(log_entry, request, native_id)
        if not isinstance(value, dict):
            records.append(request_entry.make_unknown(value))
        records += _decode_request(request_entry, request)
    return DecodeResult(records=tuple(records), state=drop_side_file(state), cwd=folder)


def _join_lines(entry: RawEntry) -> bytes:
    """Return the data with one JSON value per line.

    A log of changes has that form. A document of older versions is joined to one line.
    """
    is_log = entry.source.path.suffix == ".jsonl"
    return (
        entry.data if is_log else entry.data.replace(b"\r", b" ").replace(b"\n", b" ")
    )


def _parse_workspace(text: str) -> str:
    """Return a workspace's folder.

    If the workspace has several folders, a file lists them; return the folder of that
    file.
    """
    try:
        workspace = parse_object(text.encode(errors="replace"))
    except DecodeError:
        return ""
    if folder := parse_file_uri(workspace.get("folder")):
        return as_folder(folder)
    return as_folder(parse_file_uri(workspace.get("workspace")).rpartition("/")[0])


def _decode_header(
    log_entry: LogEntry, chat: dict[str, Any], folder: str
) -> Iterator[Record]:
    yield log_entry.make_event("opened", cwd=folder)
    if title := as_text(chat.get("customTitle")).strip():
        # Each title has its own id, so that a repeated title is stored once.
        event = log_entry.make_event("title", title, title_kind="ai")
        yield replace(event, native_id=f"title:{title}")


def _make_request_entry(
    log_entry: LogEntry, request: dict[str, Any], native_id: str
) -> LogEntry:
    metadata = as_dict(as_dict(request.get("result")).get("metadata"))
    model = as_text(metadata.get("resolvedModel")) or as_text(request.get("modelId"))
    return LogEntry(
        key=log_entry.key,
        native_id=native_id,
        scope=log_entry.scope,
        created_at=parse_time(request.get("timestamp")),
        model=model,
    )


def _decode_request(entry: LogEntry, request: dict[str, Any]) -> Iterator[Record]:
    """Decode the prompt, the response, its tokens and its end."""
    message = request.get("message")
    text = as_text(as_dict(message).get("text")) or as_text(message)
    if text:
        yield entry.make_prompt(text)
    reason = _find_end(request)
    yield from ResponseDecoder(entry).decode(as_list(request.get("response")))
    yield from _decode_usage(entry, as_dict(request.get("result")))
    end = copy_entry(entry, native_id=f"{entry.native_id} end")
    if reason == "error":
        yield end.make_record(
            "error", "assistant", block=_ERROR_BLOCK, content=_format_error(request)
        )
    elif reason == "cancelled":
        yield end.make_event("turn_ended", block=_END_BLOCK, note="interrupt")
    elif reason:
        yield end.make_event("turn_ended", block=_END_BLOCK, stop_reason=reason)


def _find_end(request: dict[str, Any]) -> str:
    """Return `end_turn`, `cancelled` or `error`, or "" if the response goes on."""
    state = as_dict(request.get("modelState")).get("value")
    result = request.get("result")
    if state == _CANCELLED or request.get("isCanceled") is True:
        return "cancelled"
    if state == _FAILED or as_dict(as_dict(result).get("errorDetails")):
        return "error"
    if state in (_PENDING, _NEEDS_INPUT) or (state is None and not result):
        return ""
    return "end_turn"


def _format_error(request: dict[str, Any]) -> str:
    details = as_dict(as_dict(request.get("result")).get("errorDetails"))
    return as_text(details.get("message")) or "The request failed."


def _decode_usage(entry: LogEntry, result: dict[str, Any]) -> Iterator[Record]:
    metadata = as_dict(result.get("metadata"))
    usage = Usage(
        as_count(metadata.get("promptTokens")), as_count(metadata.get("outputTokens"))
    )
    if usage:
        message_id = f"{entry.scope}:{entry.native_id}"
        yield entry.make_usage(usage, message_id, block=_USAGE_BLOCK)
