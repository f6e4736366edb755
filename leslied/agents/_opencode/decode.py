"""Decode a message with its parts, or a session, into records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from leslied.agents._opencode import parts
from leslied.agents._opencode.schema import (
    OpenCodeMessage,
    OpenCodeSession,
    object_field,
    parse_entry,
    text_field,
)
from leslied.agents._parsing import parse_time, reject_entry
from leslied.model.record import MAIN, DecodeResult, Record, SessionKey, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.source import RawEntry

_ERROR_BLOCK, _END_BLOCK, _TOKENS_BLOCK = 1, 2, 3
"""Block numbers of a message's records that do not come from its parts."""
_OPENED_BLOCK = 900
"""Block number of the record that opens a session."""
_DEFAULT_TITLE = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z")
_SUBAGENT_TITLE = re.compile(r"(.*) \(@\S+ subagent\)", re.DOTALL)
_CONTINUING_REASONS = ("tool-calls", "unknown")
"""Finish reasons of a message after which the agent continues its turn."""
_ABORTED = "MessageAbortedError"
_MAX_TOKENS = 2**53
"""A larger number is corrupt, not a count."""


def decode_entry(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode the current state of a message or session.

    If a number is too large to be encoded again, the entry is parsed again leniently,
    with such numbers as text.
    """
    try:
        return _decode(entry, state, parse_entry(entry))
    except OverflowError:
        return _decode(entry, state, parse_entry(entry, is_lenient=True))
    except RecursionError:
        reject_entry("nested too deeply")


def _decode(
    entry: RawEntry, state: dict[str, Any], message: OpenCodeMessage | None
) -> DecodeResult:
    if message is None:
        return _decode_unknown(entry, state)
    key = message.session.key(entry.source.agent)
    records = (*_decode_session(message, key), *_decode_message(message, key))
    noise = "" if records else text_field(message.info, "role") or "session"
    cwd = message.session.directory
    return DecodeResult(records=records, state=state, noise=noise, cwd=cwd)


def _decode_unknown(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Return a record with the unchanged text of an entry of an unknown kind."""
    if entry.is_fragment:
        reject_entry("a fragment that is not an entry")
    record = Record(
        session=SessionKey(entry.source.agent, "unknown"),
        type="unknown",
        role="system",
        content=entry.data.decode(errors="replace"),
    )
    return DecodeResult(records=(record,), state=state)


def _decode_session(message: OpenCodeMessage, key: SessionKey) -> Iterator[Record]:
    """Decode the directory, title and parent of a message's session.

    If the entry is only a session, the message has no id. An answer yields nothing,
    because its prompt has already yielded these records.
    """
    session = message.session
    if message.id and text_field(message.info, "role") != "user":
        return
    if message.id:
        facts = {"cwd": session.directory, "version": session.version}
        facts = {name: value for name, value in facts.items() if value}
        yield _make_event(
            key, session.id, _OPENED_BLOCK, session.created, "opened", **facts
        )
    if key.source != MAIN:
        yield _link_subagent(message, key)
    elif session.title and not _DEFAULT_TITLE.fullmatch(session.title):
        # Each title has its own id, so that a repeated title is stored once.
        native_id = f"title:{session.id}:{session.title}"
        event = _make_event(
            key, native_id, 0, session.created, "title", title_kind="ai"
        )
        yield parts.with_content(event, session.title)


def _link_subagent(message: OpenCodeMessage, key: SessionKey) -> Record:
    """Return a subagent's link to its parent, from the subagent's own session."""
    session: OpenCodeSession = message.session
    match = _SUBAGENT_TITLE.fullmatch(session.title)
    facts = {
        "agent_type": text_field(message.info, "agent"),
        "description": match.group(1) if match else "",
        "parent_agent": session.parent if session.parent != session.root else "",
    }
    facts = {name: value for name, value in facts.items() if value}
    native_id = f"session:{session.id}:{text_field(message.info, 'agent')}"
    return _make_event(key, native_id, 0, session.created, "subagent_linked", **facts)


def _decode_message(message: OpenCodeMessage, key: SessionKey) -> Iterator[Record]:
    """Decode a message: its parts, its token counts, and the end of its turn."""
    if not message.id:
        return
    base = {
        "session": key,
        "message_id": message.id,
        "parent_id": text_field(message.info, "parentID"),
        "model": _find_model(message.info),
    }
    match text_field(message.info, "role"):
        case "user":
            yield from parts.decode_prompt(message, base)
        case "assistant":
            yield from parts.decode_answer(message, base)
            if message.is_complete:
                yield from _decode_usage(message, base)
                yield from _decode_end(message, key, base)
        case _:
            yield parts.make_unknown_message(message, base)


def _find_model(info: dict[str, Any]) -> str:
    return text_field(info, "modelID") or text_field(
        object_field(info, "model"), "modelID"
    )


def _decode_usage(message: OpenCodeMessage, base: dict[str, Any]) -> Iterator[Record]:
    """Decode the token counts of an answer.

    The message id consists of times and model, so that a fork's copy has the same id.
    """
    step_tokens = _list_step_tokens(message)
    usage = _sum_usage(step_tokens)
    if not usage:
        return
    times = object_field(message.info, "time")
    created, completed = times.get("created"), times.get("completed")
    message_id = f"{created}-{completed}-{base['model']}" if completed else message.id
    yield Record(
        **{**base, "message_id": message_id},
        type="token_usage",
        role="assistant",
        native_id=message.id,
        block=_TOKENS_BLOCK,
        created_at=parse_time(completed),
        usage=usage,
        metadata={"is_sum": True} if len(step_tokens) > 1 else {},
    )


def _list_step_tokens(message: OpenCodeMessage) -> list[dict[str, Any]]:
    """Return the token counts of every step; the message has only those of the last."""
    steps = [part.data for part in message.parts if part.type == "step-finish"]
    return [object_field(step, "tokens") for step in steps] or [
        object_field(message.info, "tokens")
    ]


def _sum_usage(step_tokens: list[dict[str, Any]]) -> Usage:
    usage = Usage()
    for tokens in step_tokens:
        cache = object_field(tokens, "cache")
        usage += Usage(
            input_tokens=_token_count(tokens, "input"),
            output_tokens=_token_count(tokens, "output")
            + _token_count(tokens, "reasoning"),
            cache_read_tokens=_token_count(cache, "read"),
            cache_write_tokens=_token_count(cache, "write"),
        )
    return usage


def _token_count(tokens: dict[str, Any], name: str) -> int:
    """Return the field if it is a plausible count, or 0."""
    number = tokens.get(name)
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    return int(number) if is_number and 0 < number < _MAX_TOKENS else 0  # type: ignore[operator, arg-type]


def _decode_end(
    message: OpenCodeMessage, key: SessionKey, base: dict[str, Any]
) -> Iterator[Record]:
    """Decode the error of an answer, or the end of the turn, if there is one."""
    completed = object_field(message.info, "time").get("completed")
    error = object_field(message.info, "error")
    if text_field(error, "name") == _ABORTED:
        yield _make_event(
            key, message.id, _END_BLOCK, completed, "turn_ended", note="interrupt"
        )
    elif message.info.get("error"):
        yield parts.make_error(error, base, message.id, _ERROR_BLOCK, completed)
    elif _is_turn_end(message):
        stop_reason = {"length": "max_tokens"}.get(
            text_field(message.info, "finish"), "end_turn"
        )
        yield _make_event(
            key,
            message.id,
            _END_BLOCK,
            completed,
            "turn_ended",
            stop_reason=stop_reason,
        )


def _is_turn_end(message: OpenCodeMessage) -> bool:
    """Return whether this answer ends the turn; older ones state no finish reason."""
    if message.info.get("summary") is True:
        return False
    finish = text_field(message.info, "finish")
    if finish:
        return finish not in _CONTINUING_REASONS
    types = [part.type for part in message.parts if part.type in ("text", "tool")]
    return bool(types) and types[-1] == "text"


def _make_event(
    key: SessionKey, native_id: str, block: int, at: Any, kind: str, **facts: Any
) -> Record:
    return Record(
        session=key,
        type="system_event",
        role="system",
        native_id=native_id,
        block=block,
        created_at=parse_time(at),
        metadata={"kind": kind, **facts},
    )
