"""Decode lines of the sessions of Kiro's second and third engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied.agents._entry import (
    LogEntry,
    as_count,
    as_dict,
    as_list,
    as_text,
    get_side_file,
)
from leslied.agents._parsing import (
    mark_exit_code,
    parse_object,
    parse_time,
    printable_name,
    to_json,
)
from leslied.errors import DecodeError
from leslied.model.record import DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry, SourceRef

State = dict[str, Any]
"""`number`: the number of the last line; `cwd`, `title` and `model`. Before the first
line, it has only `beside`: the beginning of the session's metadata."""
_THIRD_ENGINE_FILE = "messages.jsonl"
_FACT = re.compile(
    r'"(cwd|title|modelId|model_id|workingDirectory)"\s*:\s*("(?:[^"\\]|\\.)*")'
)
"""A fact in the session's metadata, of which only the beginning is read."""
_MAX_FACT_LENGTH = 800


def decode_line(entry: RawEntry, state: State) -> DecodeResult:
    """Decode a message, or an event of the third engine."""
    value = parse_object(entry.data)
    is_third_engine = entry.source.path.name == _THIRD_ENGINE_FILE
    key = SessionKey(entry.source.agent, _find_session_id(entry.source))
    records: list[Record] = []
    if "number" not in state:
        facts = _parse_facts(get_side_file(state))
        state = {"number": 0, **facts}
        records += _decode_opening(key, facts)
    number = as_count(state.get("number")) + 1
    data = as_dict(value.get("payload" if is_third_engine else "data"))
    log_entry = LogEntry(
        key=key,
        native_id=as_text(data.get("message_id")) or f"line {number}",
        scope=key.session_id,
        created_at=parse_time(value.get("timestamp"))
        or parse_time(as_dict(data.get("meta")).get("timestamp")),
        model=as_text(state.get("model")),
    )
    decode = _decode_event if is_third_engine else _decode_message
    new_records = list(decode(log_entry, value, data, entry.data))
    noise = "" if records or new_records else "empty"
    return DecodeResult(
        records=(*records, *new_records),
        state={**state, "number": number},
        noise=noise,
        cwd=as_text(state.get("cwd")),
    )


def _find_session_id(source: SourceRef) -> str:
    """Return the id in the file's name; for the third engine, in its folder's name."""
    if source.path.name == _THIRD_ENGINE_FILE:
        return printable_name(source.path.parent.name).removeprefix("sess_")
    return printable_name(source.path.stem)


def _parse_facts(text: str) -> dict[str, str]:
    """Return the folder, title and model from the beginning of the metadata."""
    names = {"workingDirectory": "cwd", "title": "title", "cwd": "cwd"}
    facts: dict[str, str] = {}
    for match in _FACT.finditer(text):
        try:
            fact = as_text(parse_object(b'{"v":%b}' % match[2].encode())["v"])
        except DecodeError:
            continue
        if len(fact) <= _MAX_FACT_LENGTH:
            facts.setdefault(names.get(match[1], "model"), fact)
    return facts


def _decode_opening(key: SessionKey, facts: dict[str, str]) -> Iterator[Record]:
    log_entry = LogEntry(key=key, native_id="session", scope=key.session_id)
    if folder := facts.get("cwd"):
        yield log_entry.make_event("opened", cwd=folder)
    if title := facts.get("title", "").strip():
        yield log_entry.make_event("title", title, block=1, title_kind="ai")


def _decode_message(
    entry: LogEntry, value: dict[str, Any], data: dict[str, Any], raw: bytes
) -> Iterator[Record]:
    """Decode a message of the second engine, and its parts."""
    content = [as_dict(part) for part in as_list(data.get("content"))]
    texts = [
        as_text(part.get("data")) for part in content if part.get("kind") == "text"
    ]
    text = "\n\n".join(filter(None, texts))
    match value.get("kind"):
        case "Prompt":
            if text.strip():
                yield entry.make_prompt(text, block=len(content))
        case "AssistantMessage":
            has_calls = any(part.get("kind") == "toolUse" for part in content)
            if text.strip():
                reason = "" if has_calls else "end_turn"
                yield entry.make_answer(text, block=len(content), stop_reason=reason)
        case "ToolResults":
            pass
        case _:
            yield entry.make_unknown(raw)
            return
    for block, part in enumerate(content):
        yield from _decode_part(entry, block, part)


def _decode_part(entry: LogEntry, block: int, part: dict[str, Any]) -> Iterator[Record]:
    data = as_dict(part.get("data"))
    match part.get("kind"):
        case "text":
            pass
        case "toolUse":
            name, call_id = as_text(data.get("name")), as_text(data.get("toolUseId"))
            yield entry.make_call(name, call_id, data.get("input"), block=block)
        case "toolResult":
            text, facts = _format_result(data.get("content"))
            if as_text(data.get("status")).lower() == "error":
                facts = {"is_error": True, **facts}
            call_id = as_text(data.get("toolUseId"))
            yield entry.make_result("", call_id, text, block=block, **facts)
        case _:
            yield entry.make_unknown(part, block=block)


def _format_result(content: Any) -> tuple[str, dict[str, Any]]:
    """Return a result's text and facts; a command has output streams and a code."""
    texts: list[str] = []
    facts: dict[str, Any] = {}
    for part in as_list(content):
        data = as_dict(part).get("data")
        streams = as_dict(data)
        if "exit_status" in streams:
            outputs = [as_text(streams.get(name)) for name in ("stdout", "stderr")]
            code = re.search(r"-?\d{1,9}", f"{streams['exit_status']}")
            number = int(code[0]) if code else None
            text, facts = mark_exit_code("\n".join(filter(None, outputs)), number)
            texts.append(text)
        else:
            texts.append(data if isinstance(data, str) else to_json(data))
    return "\n".join(texts), facts


def _decode_event(
    entry: LogEntry, value: dict[str, Any], data: dict[str, Any], raw: bytes
) -> Iterator[Record]:
    """Decode an event of the third engine, which has all its fields in `data`."""
    del value
    text, call_id = as_text(data.get("content")), as_text(data.get("toolCallId"))
    match data.get("type"):
        case "user":
            yield entry.make_prompt(text)
        case "assistant" if data.get("operationType") == "Say":
            yield entry.make_answer(text)
        case "tool_call":
            name = as_text(data.get("toolName"))
            yield entry.make_call(name, call_id, data.get("args"))
        case "tool_result":
            content = data.get("content")
            result = text or ("" if content in (None, "") else to_json(content))
            facts = {"is_error": True} if data.get("success") is False else {}
            yield entry.make_result("", call_id, result, **facts)
        case "usage_summary":
            pass
        case _:
            yield entry.make_unknown(raw)
