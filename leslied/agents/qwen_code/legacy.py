"""Decode session documents, which the first versions of Qwen Code wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_object, parse_time, printable_name
from leslied.agents.qwen_code.schema import (
    QwenLine,
    as_dict,
    as_list,
    as_text,
    call_fields,
    format_placeholder,
    parse_usage,
    response_text,
)
from leslied.model.record import DecodeResult, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents.qwen_code.schema import State
    from leslied.model.record import Usage
    from leslied.model.source import RawEntry

_FIRST_THOUGHT_BLOCK, _FIRST_CALL_BLOCK = 1000, 2000
"""Block numbers of a message's first thought and first call; later ones follow."""


def decode_legacy_document(entry: RawEntry, state: State) -> DecodeResult:
    """Decode a document with a whole session."""
    value = parse_object(entry.data)
    stem = printable_name(entry.source.path.stem)
    session_id = as_text(value.get("sessionId")) or stem
    records: list[Record] = []
    for number, message in enumerate(as_list(value.get("messages"))):
        if isinstance(message, dict):
            line = QwenLine(
                value=message,
                key=SessionKey(entry.source.agent, session_id),
                native_id=as_text(message.get("id")) or f"nth:{number}",
                created_at=parse_time(message.get("timestamp")),
                scope=session_id,
            )
            records += _decode_message(line)
    noise = "" if records else "empty"
    return DecodeResult(records=tuple(records), state=state, noise=noise)


def _decode_message(line: QwenLine) -> Iterator[Record]:
    kind = as_text(line.value.get("type"))
    if kind in ("gemini", "qwen", "assistant"):
        yield from _decode_answer(line)
        return
    text = _flatten_text(line.value.get("content"))
    if kind == "user":
        metadata = {"origin": "prompt"}
        yield line.make_record("user_message", "user", content=text, metadata=metadata)
    else:
        yield line.make_event("notice", text, note=kind)


def _decode_answer(line: QwenLine) -> Iterator[Record]:
    """Decode thoughts, text and calls, under block numbers that never change."""
    message = line.value
    calls = [c for c in as_list(message.get("toolCalls")) if isinstance(c, dict)]
    base: dict[str, Any] = {
        "model": as_text(message.get("model")),
        "message_id": f"{line.scope}:{line.native_id}",
        "metadata": {} if calls else {"stop_reason": "end_turn"},
    }
    for number, thought in enumerate(as_list(message.get("thoughts"))):
        fields = {**base, "block": _FIRST_THOUGHT_BLOCK + number}
        text = _thought_text(as_dict(thought))
        yield line.make_record("thinking", "assistant", content=text, **fields)
    yield line.make_record(
        "assistant_message",
        "assistant",
        content=_flatten_text(message.get("content")),
        usage=_parse_legacy_usage(as_dict(message.get("tokens"))),
        **base,
    )
    for number, call in enumerate(calls):
        fields = {**base, "block": _FIRST_CALL_BLOCK + 2 * number}
        yield from _decode_legacy_call(line, call, fields)


def _thought_text(thought: dict[str, Any]) -> str:
    texts = (as_text(thought.get(name)) for name in ("subject", "description"))
    return ": ".join(filter(None, texts))


def _parse_legacy_usage(tokens: dict[str, Any]) -> Usage | None:
    counts = {
        "promptTokenCount": tokens.get("input"),
        "candidatesTokenCount": tokens.get("output"),
        "cachedContentTokenCount": tokens.get("cached"),
        "thoughtsTokenCount": tokens.get("thoughts"),
    }
    return parse_usage(counts)


def _decode_legacy_call(
    line: QwenLine, call: dict[str, Any], base: dict[str, Any]
) -> Iterator[Record]:
    yield line.make_record("tool_use", "assistant", **call_fields(call), **base)
    if call.get("result") is None:
        return
    parts = [as_dict(part) for part in as_list(call.get("result"))]
    responses = [
        as_dict(as_dict(part.get("functionResponse")).get("response")) for part in parts
    ]
    text = "\n".join(filter(None, map(response_text, responses)))
    yield line.make_record(
        "tool_result",
        "tool",
        content=text or _flatten_text(call.get("resultDisplay")),
        tool_call_id=as_text(call.get("id")),
        block=base["block"] + 1,
        metadata={"is_error": True} if call.get("status") == "error" else {},
    )


def _flatten_text(content: object) -> str:
    """Return the text of a message, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in as_list(content) if isinstance(part, dict)]
    texts = [as_text(part.get("text")) or format_placeholder(part) for part in parts]
    return "\n\n".join(filter(None, texts))
