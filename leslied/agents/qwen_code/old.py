"""Whole sessions in one document, as the first versions of Qwen Code wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._parsing import parse_object, parse_time, printable
from leslied.agents.qwen_code.line import (
    Line,
    call_of,
    dict_of,
    list_of,
    placeholder,
    tell_response,
    text_of,
    usage_of,
)
from leslied.model.record import Decoded, Record, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.agents.qwen_code.line import State
    from leslied.model.source import RawEntry

_THOUGHTS, _CALLS = 1000, 2000
"""Block numbers of a message's first thought and call: more of either may come."""


def decode_old(entry: RawEntry, state: State) -> Decoded:
    """A whole session in one document, as the first versions wrote it."""
    value = parse_object(entry.data)
    stem = printable(entry.source.path.stem)
    session_id = text_of(value.get("sessionId")) or stem
    records: list[Record] = []
    for number, message in enumerate(list_of(value.get("messages"))):
        if isinstance(message, dict):
            line = Line(
                value=message,
                key=SessionKey(entry.source.agent, session_id),
                native_id=text_of(message.get("id")) or f"nth:{number}",
                created_at=parse_time(message.get("timestamp")),
                scope=session_id,
            )
            records += _decode_message(line)
    noise = "" if records else "empty"
    return Decoded(records=tuple(records), state=state, noise=noise)


def _decode_message(line: Line) -> Iterator[Record]:
    """Words, thoughts and calls of one message, each in a block that stays its own."""
    told, kind = line.value, text_of(line.value.get("type"))
    text = _flatten(told.get("content"))
    if kind == "user":
        metadata = {"origin": "prompt"}
        yield line.record("user_message", "user", content=text, metadata=metadata)
        return
    if kind not in ("gemini", "qwen", "assistant"):
        yield line.event("notice", text, note=kind)
        return
    calls = [call for call in list_of(told.get("toolCalls")) if isinstance(call, dict)]
    base: dict[str, Any] = {
        "model": text_of(told.get("model")),
        "message_id": f"{line.scope}:{line.native_id}",
        "metadata": {} if calls else {"stop_reason": "end_turn"},
    }
    for number, thought in enumerate(list_of(told.get("thoughts"))):
        here = {**base, "block": _THOUGHTS + number}
        shown = ": ".join(
            filter(
                None,
                map(text_of, map(dict_of(thought).get, ("subject", "description"))),
            )
        )
        yield line.record("thinking", "assistant", content=shown, **here)
    tokens = dict_of(told.get("tokens"))
    renamed = {
        "promptTokenCount": tokens.get("input"),
        "candidatesTokenCount": tokens.get("output"),
        "cachedContentTokenCount": tokens.get("cached"),
        "thoughtsTokenCount": tokens.get("thoughts"),
    }
    usage = usage_of(renamed)
    yield line.record(
        "assistant_message", "assistant", content=text, usage=usage, **base
    )
    for number, call in enumerate(calls):
        yield from _decode_old_call(line, call, {**base, "block": _CALLS + 2 * number})


def _decode_old_call(
    line: Line, call: dict[str, Any], base: dict[str, Any]
) -> Iterator[Record]:
    yield line.record("tool_use", "assistant", **call_of(call), **base)
    if call.get("result") is None:
        return
    told = [dict_of(part) for part in list_of(call.get("result"))]
    answers = [
        dict_of(dict_of(p.get("functionResponse")).get("response")) for p in told
    ]
    text = "\n".join(filter(None, map(tell_response, answers)))
    yield line.record(
        "tool_result",
        "tool",
        content=text or _flatten(call.get("resultDisplay")),
        tool_call_id=text_of(call.get("id")),
        block=base["block"] + 1,
        metadata={"is_error": True} if call.get("status") == "error" else {},
    )


def _flatten(content: object) -> str:
    """The text of a message: plain, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in list_of(content) if isinstance(part, dict)]
    texts = [text_of(part.get("text")) or placeholder(part) for part in parts]
    return "\n\n".join(filter(None, texts))
