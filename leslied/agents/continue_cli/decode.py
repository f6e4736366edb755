"""Decode Continue's sessions: documents that are rewritten as they grow.

Messages have no ids. A prompt is identified by its text and its number among equal
prompts, any other message by the prompt before it and its distance from that prompt. So
a changed message is a new version of itself. Ids after a summary have a prefix, so that
these messages do not overwrite those that the summary replaced.

`docs/formats/continue-cli.md` documents the format.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
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
    get_side_file,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_document,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.model.record import DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

    State = dict[str, Any]

_RESULT_BLOCK, _THINKING_BLOCK, _SUMMARY_BLOCK = 1000, 2000, 2001
"""Block numbers of a message's first result, of its thought and of its summary."""
_DEFAULT_TITLES = ("Untitled Session", "New Session", "")
_MAX_TITLE_ID = 100
"""Characters of a title that are a part of its id."""
_CREATED = re.compile(r'\A[^{}]*"dateCreated":\s*"?(\d{12,14})')
"""The time of a session in the part of the list that begins with its id."""
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
_EXIT_CODE = re.compile(
    r"\A(?:Error executing tool \w+: )?Error \(exit code (\d{1,9})\): "
)
_OPEN_STATUSES = ("generating", "generated", "calling")
"""Statuses of calls that have no result yet."""


def decode_session(entry: RawEntry, state: State) -> DecodeResult:
    """Decode all messages of a session.

    The side file is the client's list of sessions, from this session on.
    """
    document = parse_document(entry.data)
    items = document.get("history")
    if not isinstance(items, list):
        reject_entry("a document without a history")
    session_id = printable_name(entry.source.parts[-1]).removesuffix(".json")
    log_entry = LogEntry(
        key=SessionKey(entry.source.agent, session_id),
        native_id="session",
        scope=session_id,
    )
    cwd = _parse_folder(document.get("workspaceDirectory"))
    created_at = _find_time(get_side_file(state))
    try:
        records = _decode_header(log_entry, document, cwd, created_at)
        for number, (native_id, item) in enumerate(_iter_items_with_ids(items)):
            message_entry = LogEntry(
                key=log_entry.key,
                native_id=native_id,
                # The first prompt has the time of the session, which it created. Ids
                # with `/` are of messages after a summary, which replaced that prompt.
                created_at=None if number or "/" in native_id else created_at,
                scope=session_id,
                model=_find_model(as_dict(item)),
            )
            records += _decode_item(message_entry, item)
    except RecursionError:
        reject_entry("nested too deeply")
    return DecodeResult(
        records=tuple(records), state={"cwd": cwd} if cwd else {}, cwd=cwd
    )


def _parse_folder(value: object) -> str:
    """Return the path of a directory, which editors write as a URI."""
    path = as_text(value)
    if path.startswith("file://"):
        path = _decode_uri(path.removeprefix("file://"))
    return as_folder(path)


def _decode_uri(path: str) -> str:
    """Decode the percent escapes of a path, as `urllib` would, without importing it."""
    data = _ESCAPE.sub(
        lambda match: bytes([int(match[1], 16)]), path.encode(errors="replace")
    )
    return data.decode(errors="replace")


def _find_time(list_part: str) -> datetime | None:
    """Return when the first session in a part of the list was created, or None."""
    match = _CREATED.match(list_part)
    return parse_time(int(match[1])) if match else None


def _decode_header(
    log_entry: LogEntry, document: dict[str, Any], cwd: str, created_at: datetime | None
) -> list[Record]:
    """Decode the session's directory, time and title."""
    event = log_entry.make_event("opened", cwd=cwd)
    records = [replace(event, created_at=created_at)]
    title = as_text(document.get("title")).strip()
    if title not in _DEFAULT_TITLES:
        event = log_entry.make_side_title(title, "ai")
        records.append(replace(event, native_id=f"title:{title[:_MAX_TITLE_ID]}"))
    return records


def _iter_items_with_ids(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the id of each message, and the message.

    The messages have no ids: an id is the hash of the last prompt, with a number that
    tells equal prompts apart, and the number of messages since that prompt.
    """
    prefix = _make_id_prefix(items)
    prompt_id, distance = prefix, 0
    counts: Counter[str] = Counter()
    for item in items:
        message = as_dict(as_dict(item).get("message"))
        if message.get("role") == "user":
            digest = _digest(to_json(message.get("content")))
            counts[digest] += 1
            prompt_id, distance = f"{prefix}{digest}-{counts[digest]}", 0
        yield f"{prompt_id}+{distance}", item
        distance += 1


def _make_id_prefix(items: list[Any]) -> str:
    """Return a prefix for all ids if a summary replaced earlier messages, or ""."""
    first = as_dict(items[0]) if items else {}
    summary = as_text(first.get("conversationSummary"))
    is_replaced = summary and summary == as_dict(first.get("message")).get("content")
    return f"{_digest(summary)}/" if is_replaced else ""


def _digest(text: str) -> str:
    data = text.encode(errors="replace")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _find_model(item: dict[str, Any]) -> str:
    """Return the model: `cn` names it with the tokens, an editor in its prompt log."""
    usage = as_dict(as_dict(item.get("message")).get("usage"))
    logs = as_list(item.get("promptLogs"))
    title = as_text(as_dict(logs[-1]).get("modelTitle")) if logs else ""
    return as_text(usage.get("model")) or title


def _decode_item(entry: LogEntry, value: object) -> Iterator[Record]:
    item = as_dict(value)
    message = as_dict(item.get("message"))
    summary = as_text(item.get("conversationSummary"))
    text = _join_texts(message.get("content"))
    match message.get("role"):
        case "user":
            yield _decode_prompt(entry, item, text)
        case "assistant" if summary and summary == text:
            pass
        case "assistant":
            yield from _decode_answer(entry, item, message)
        case "thinking":
            yield entry.make_thinking(text)
        case "tool":
            yield entry.make_result("", as_text(message.get("toolCallId")), text)
        case "system":
            yield entry.make_event("context", text, note="system_prompt")
        case _:
            yield entry.make_unknown(value)
    if summary:
        yield entry.make_event("compacted", summary, block=_SUMMARY_BLOCK)


def _decode_prompt(entry: LogEntry, item: dict[str, Any], text: str) -> Record:
    """Decode a prompt; texts that the client added to it become `attached`."""
    record = entry.make_prompt(text)
    contents = [
        as_text(as_dict(each).get("content"))
        for each in as_list(item.get("contextItems"))
    ]
    attached = "\n\n".join(filter(None, contents))
    if not attached:
        return record
    return replace(record, metadata={**record.metadata, "attached": attached})


def _decode_answer(
    entry: LogEntry, item: dict[str, Any], message: dict[str, Any]
) -> Iterator[Record]:
    """Decode a thought, a text, calls and results; without a call, the turn ends."""
    text, usage = _join_texts(message.get("content")), _parse_usage(message)
    calls = [as_dict(call) for call in as_list(message.get("toolCalls"))]
    records = []
    if thought := as_text(as_dict(item.get("reasoning")).get("text")):
        records.append(entry.make_thinking(thought, block=_THINKING_BLOCK))
    if text or not calls:
        stop_reason = "" if calls else "end_turn"
        records.append(entry.make_answer(text, stop_reason=stop_reason))
    for block, call in enumerate(calls[: _RESULT_BLOCK - 1], 1):
        records.append(_decode_call(entry, call, block))
    message_id = f"{entry.scope}:{entry.native_id}"
    for record in records:
        yield replace(record, usage=usage, message_id=message_id)
    call_states = [as_dict(each) for each in as_list(item.get("toolCallStates"))]
    for block, call_state in enumerate(call_states[:_RESULT_BLOCK], _RESULT_BLOCK):
        yield from _decode_result(entry, call_state, block)


def _decode_call(entry: LogEntry, call: dict[str, Any], block: int) -> Record:
    function = as_dict(call.get("function"))
    arguments = as_text(function.get("arguments"))
    name, call_id = as_text(function.get("name")), as_text(call.get("id"))
    return entry.make_call(name, call_id, arguments, block=block)


def _decode_result(
    entry: LogEntry, call_state: dict[str, Any], block: int
) -> Iterator[Record]:
    """Decode the result of a call from the call's state; yield nothing without one."""
    status = as_text(call_state.get("status"))
    outputs = [as_dict(each) for each in as_list(call_state.get("output"))]
    if status in _OPEN_STATUSES and not outputs:
        return
    text = "\n\n".join(as_text(each.get("content")) for each in outputs)
    code = _EXIT_CODE.match(text)
    output = text[code.end() :] if code else text
    output, facts = mark_exit_code(output, int(code[1]) if code else None)
    if status in ("errored", "canceled"):
        facts["is_error"] = True
    function = as_dict(as_dict(call_state.get("toolCall")).get("function"))
    name, call_id = as_text(function.get("name")), as_text(call_state.get("toolCallId"))
    text = output or ("The call was cancelled." if status == "canceled" else "")
    yield entry.make_result(name, call_id, text, block=block, **facts)


def _parse_usage(message: dict[str, Any]) -> Usage | None:
    """Return the tokens of a request; the log's input count includes cached tokens."""
    usage = as_dict(message.get("usage"))
    details = as_dict(usage.get("prompt_tokens_details"))
    input_total, output = (
        as_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")
    )
    cached = as_count(details.get("cached_tokens"))
    return Usage(max(input_total - cached, 0), output, cached) or None


def _join_texts(content: object) -> str:
    """Return the text of a message, with a placeholder for each image."""
    if isinstance(content, str):
        return content
    texts = []
    for part in as_list(content):
        fields = as_dict(part)
        if fields.get("type") == "imageUrl":
            url = as_text(as_dict(fields.get("imageUrl")).get("url"))
            head, _, data = url.partition(";base64,")
            media_type = head.removeprefix("data:") if data else "link"
            texts.append(format_attachment("image", media_type, data))
        else:
            texts.append(as_text(fields.get("text")) or to_json(part))
    return "\n\n".join(filter(None, texts))
