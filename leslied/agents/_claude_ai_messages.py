"""Decode conversations of Claude.ai; `docs/formats/claude-ai.md` documents them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.agents._entry import LogEntry, as_dict, as_list, as_text
from leslied.agents._parsing import (
    parse_document,
    parse_time,
    printable_name,
    reject_entry,
    to_json,
)
from leslied.model.record import DecodeResult, SessionKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record
    from leslied.model.source import RawEntry

_ROOT_PARENT = "00000000-0000-4000-8000-000000000000"
"""The parent of the first message."""
_END_BLOCK = 100_000
_NOISE_PARTS = frozenset({"token_budget", "flag"})
"""Types of parts of a message that only the client uses."""


def decode_conversation(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a document: one conversation."""
    document = parse_document(entry.data)
    if not isinstance(document.get("chat_messages"), list):
        reject_entry("a document without messages")
    stem = printable_name(entry.source.parts[-1]).removesuffix(".json")
    session_id = as_text(document.get("uuid")) or stem
    key = SessionKey(entry.source.agent, session_id)
    try:
        records = tuple(_decode_document(document, key))
    except RecursionError:
        reject_entry("nested too deeply")
    return DecodeResult(records=records, state=state)


def _decode_document(document: dict[str, Any], key: SessionKey) -> Iterator[Record]:
    header = LogEntry(
        key=key,
        native_id="opened",
        scope=key.session_id,
        created_at=parse_time(document.get("created_at")),
    )
    yield header.make_event("opened")
    if title := as_text(document.get("name")):
        yield header.make_event("title", title, block=1, title_kind="ai")
    model = as_text(document.get("model"))
    messages = as_list(document.get("chat_messages"))
    for number, message in enumerate(messages, 1):
        next_message = as_dict(messages[number]) if number < len(messages) else None
        ends_turn = next_message is None or next_message.get("sender") == "human"
        yield from _decode_message(key, number, message, model, ends_turn=ends_turn)


def _decode_message(
    key: SessionKey, number: int, value: object, model: str, *, ends_turn: bool
) -> Iterator[Record]:
    """Decode a message; `ends_turn` is True if a prompt or nothing follows it."""
    message = as_dict(value)
    parent = as_text(message.get("parent_message_uuid"))
    entry = LogEntry(
        key=key,
        native_id=as_text(message.get("uuid")) or f"message:{number}",
        scope=key.session_id,
        created_at=parse_time(message.get("created_at")),
        model=as_text(message.get("model")) or model,
        parent_id="" if parent == _ROOT_PARENT else parent,
    )
    match message.get("sender"):
        case "human":
            text = _join_texts(message)
            yield entry.make_prompt("\n\n".join([text, *_list_attachments(message)]))
        case "assistant":
            yield from _decode_answer(entry, message, ends_turn=ends_turn)
        case _:
            yield entry.make_unknown(value)


def _decode_answer(
    entry: LogEntry, message: dict[str, Any], *, ends_turn: bool
) -> Iterator[Record]:
    parts = as_list(message.get("content"))
    if not parts:
        text = as_text(message.get("text"))
        yield entry.make_answer(text, stop_reason="end_turn" if ends_turn else "")
        return
    last = len(parts) - 1
    # A result without an id belongs to the call before it.
    call_id = ""
    for block, value in enumerate(parts):
        part = as_dict(value)
        is_final_text = ends_turn and block == last and part.get("type") == "text"
        if part.get("type") == "tool_use":
            call_id = as_text(part.get("id")) or f"{entry.native_id}:{block}"
        if as_text(part.get("type")) not in _NOISE_PARTS:
            reason = "end_turn" if is_final_text else ""
            yield _decode_part(entry, part, block, call_id, reason)
    if ends_turn and as_dict(parts[-1]).get("type") != "text":
        yield entry.make_event("turn_ended", block=_END_BLOCK, note="answered")


def _decode_part(
    entry: LogEntry, part: dict[str, Any], block: int, call_id: str, reason: str
) -> Record:
    """Decode a part of an answer; `call_id` is for calls, and results without an id."""
    match part.get("type"):
        case "text":
            text = as_text(part.get("text"))
            return entry.make_answer(text, block=block, stop_reason=reason)
        case "thinking":
            return entry.make_thinking(as_text(part.get("thinking")), block=block)
        case "tool_use":
            name = as_text(part.get("name"))
            return entry.make_call(name, call_id, part.get("input"), block=block)
        case "tool_result":
            call_id = as_text(part.get("tool_use_id")) or call_id
            facts = {"is_error": True} if part.get("is_error") is True else {}
            text = _join_content(part.get("content"))
            name = as_text(part.get("name"))
            return entry.make_result(name, call_id, text, block=block, **facts)
    return entry.make_unknown(part, block=block)


def _join_texts(message: dict[str, Any]) -> str:
    """Return the text of a prompt; older exports have it in one field only."""
    parts = map(as_dict, as_list(message.get("content")))
    texts = [as_text(part.get("text")) for part in parts if part.get("type") == "text"]
    return "\n\n".join(filter(None, texts)) or as_text(message.get("text"))


def _list_attachments(message: dict[str, Any]) -> list[str]:
    """Return a prompt's attachments as text: pasted texts, and the names of files."""
    texts = []
    for attachment in map(as_dict, as_list(message.get("attachments"))):
        name = as_text(attachment.get("file_name")) or "pasted text"
        content = as_text(attachment.get("extracted_content"))
        texts.append(f"[file {name}]\n{content}" if content else f"[file {name}]")
    files = map(as_dict, as_list(message.get("files")))
    names = (as_text(file.get("file_name")) or "without a name" for file in files)
    return [*texts, *(f"[file {name}]" for name in names)]


def _join_content(content: object) -> str:
    """Return the text of a result; parts that are not text stay JSON."""
    if isinstance(content, str):
        return content
    return "\n\n".join(
        as_text(as_dict(part).get("text")) or to_json(part) for part in as_list(content)
    )
