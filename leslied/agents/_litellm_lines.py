"""Decode requests to a chat completions API, and their responses.

`docs/formats/litellm.md` documents them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from leslied.agents._entry import LogEntry, as_count, as_dict, as_list, as_text
from leslied.agents._parsing import parse_object, parse_time, reject_entry, to_json
from leslied.model.record import DecodeResult, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}
_TIMES = ("endTime", "end_time", "timestamp", "created_at", "startTime", "start_time")
_SESSION_NAMES = ("session_id", "trace_id", "litellm_session_id", "litellm_trace_id")
_CALLS_BLOCK = 10


def find_request(line: dict[str, Any]) -> dict[str, Any]:
    """Return the request in a line, an object with messages; {} if there is none."""
    for name in ("", "request", "body", "request_body", "kwargs"):
        fields = as_dict(line.get(name)) if name else line
        messages = fields.get("messages")
        if isinstance(messages, list) and any(as_dict(m).get("role") for m in messages):
            return fields
    return {}


def decode_line(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode one line.

    A request repeats all messages before it. A message has the same id in each
    request, so that it is stored once.
    """
    line = parse_object(entry.data)
    request = find_request(line)
    if not request:
        reject_entry("a line without the messages of a request")
    try:
        records = tuple(_decode_request(entry, line, request))
    except RecursionError:
        reject_entry("nested too deeply")
    return DecodeResult(records=records, state=state)


def _decode_request(
    entry: RawEntry, line: dict[str, Any], request: dict[str, Any]
) -> Iterator[Record]:
    """Decode the messages of a request, its answer and its tokens.

    A request has all messages of the conversation so far, so each is marked as a
    repetition: the store keeps it once. Only the answer's time is known.
    """
    messages = [as_dict(message) for message in as_list(request.get("messages"))]
    key = SessionKey(entry.source.agent, _find_session(line, request, messages))
    time = next((t for n in _TIMES if (t := parse_time(line.get(n)))), None)
    tool_names = _find_tool_names(messages)
    for number, message in enumerate(messages):
        log_entry = _make_log_entry(key, number, message, None)
        for record in _decode_message(log_entry, message, tool_names):
            yield replace(record, is_repeat=True)
    response = _find_response(line)
    model = as_text(response.get("model")) or as_text(request.get("model"))
    choice = as_dict(next(iter(as_list(response.get("choices"))), {}))
    if answer := as_dict(choice.get("message")):
        log_entry = _make_log_entry(key, len(messages), answer, time, model)
        stop_reason = _STOP_REASONS.get(as_text(choice.get("finish_reason")), "")
        yield from _decode_message(log_entry, answer, tool_names, stop_reason)
    yield from _decode_outcome(key, line, response, len(messages), time)


def _find_session(
    line: dict[str, Any], request: dict[str, Any], messages: list[dict[str, Any]]
) -> str:
    """Return the id of a conversation.

    If the line has none, it is a hash of the messages up to the first prompt.
    """
    for fields in (
        line,
        as_dict(line.get("metadata")),
        as_dict(request.get("metadata")),
    ):
        for name in _SESSION_NAMES:
            if session_id := as_text(fields.get(name)):
                return session_id
    end = next((n for n, m in enumerate(messages, 1) if m.get("role") == "user"), 1)
    return hashlib.sha256("\0".join(map(_digest, messages[:end])).encode()).hexdigest()[
        :32
    ]


def _make_log_entry(
    key: SessionKey,
    number: int,
    message: dict[str, Any],
    time: datetime | None,
    model: str = "",
) -> LogEntry:
    """Return the fields that the records of a message share.

    The id is the same whether the message is a response or a part of a later request.
    """
    return LogEntry(
        key=key,
        native_id=f"{number}:{_digest(message)}",
        scope=key.session_id,
        created_at=time,
        model=model,
    )


def _digest(message: dict[str, Any]) -> str:
    """Return a hash of a message's role, text and calls."""
    calls = []
    for call in map(as_dict, as_list(message.get("tool_calls"))):
        function = as_dict(call.get("function"))
        calls.append([call.get("id"), function.get("name"), function.get("arguments")])
    text = _join_parts(message.get("content"))
    value = [as_text(message.get("role")), text, calls, message.get("tool_call_id")]
    return hashlib.sha256(to_json(value).encode()).hexdigest()[:16]


def _find_tool_names(messages: list[dict[str, Any]]) -> dict[str, str]:
    """Return the names of the called tools by the ids of the calls."""
    calls = [as_dict(c) for m in messages for c in as_list(m.get("tool_calls"))]
    return {
        as_text(call.get("id")): as_text(as_dict(call.get("function")).get("name"))
        for call in calls
    }


def _decode_message(
    log_entry: LogEntry,
    message: dict[str, Any],
    tool_names: dict[str, str],
    stop_reason: str = "",
) -> Iterator[Record]:
    text = _join_parts(message.get("content"))
    match message.get("role"):
        case "system" | "developer":
            yield log_entry.make_event("context", text, note="system_prompt")
        case "user":
            yield log_entry.make_prompt(text)
        case "assistant":
            yield from _decode_answer(log_entry, message, text, stop_reason)
        case "tool" | "function":
            call_id = as_text(message.get("tool_call_id"))
            name = as_text(message.get("name")) or tool_names.get(call_id, "")
            yield log_entry.make_result(name, call_id, text)
        case _:
            yield log_entry.make_unknown(message)


def _decode_answer(
    log_entry: LogEntry, message: dict[str, Any], text: str, stop_reason: str
) -> Iterator[Record]:
    names = ("reasoning_content", "reasoning")
    thinking = next(filter(None, (as_text(message.get(name)) for name in names)), "")
    if thinking:
        yield log_entry.make_thinking(thinking, block=1)
    calls = as_list(message.get("tool_calls"))
    if text or not (thinking or calls):
        yield log_entry.make_answer(text, block=2, stop_reason=stop_reason)
    for block, value in enumerate(calls, _CALLS_BLOCK):
        call = as_dict(value)
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        name, call_id = as_text(function.get("name")), as_text(call.get("id"))
        yield log_entry.make_call(name, call_id, arguments, block=block)


def _find_response(line: dict[str, Any]) -> dict[str, Any]:
    """Return the response in a line; it may be the `body` of another object."""
    for name in ("response", "response_obj", "response_body"):
        if response := as_dict(line.get(name)):
            return as_dict(response.get("body")) or response
    return line if "choices" in line else {}


def _decode_outcome(
    key: SessionKey,
    line: dict[str, Any],
    response: dict[str, Any],
    message_count: int,
    time: datetime | None,
) -> Iterator[Record]:
    """Decode the tokens and the error of a request."""
    response_id = as_text(response.get("id")) or as_text(line.get("id"))
    log_entry = LogEntry(
        key=key,
        native_id=f"response:{response_id or message_count}",
        scope=key.session_id,
        created_at=time,
        model=as_text(response.get("model")) or as_text(line.get("model")),
    )
    if usage := _parse_usage(as_dict(response.get("usage")) or line):
        yield log_entry.make_usage(usage, f"{key.session_id}:{log_entry.native_id}")
    errors = (line.get("error_str"), line.get("exception"), response.get("error"))
    error = next(filter(None, errors), None)
    if error:
        text = error if isinstance(error, str) else to_json(error)
        yield log_entry.make_record("error", "assistant", content=text, block=1)


def _parse_usage(usage: dict[str, Any]) -> Usage | None:
    input_total, output = (
        as_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")
    )
    details = as_dict(usage.get("prompt_tokens_details"))
    cached = min(as_count(details.get("cached_tokens")), input_total)
    return Usage(input_total - cached, output, cached) or None


def _join_parts(content: object) -> str:
    """Return the text of a message, with a placeholder for each other part."""
    if isinstance(content, str):
        return content
    texts = []
    for part in as_list(content):
        fields = as_dict(part)
        kind = as_text(fields.get("type")) or "part"
        texts.append(as_text(fields.get("text")) or f"[{kind}]")
    return "\n\n".join(texts)
