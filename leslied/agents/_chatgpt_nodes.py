"""Decode conversations of ChatGPT; `docs/formats/chatgpt.md` documents them."""

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

_CONTEXT_TYPES = frozenset({"user_editable_context", "model_editable_context"})
"""Types of messages with the user's instructions and memories."""
_END_BLOCK = 1000


def decode_conversation(entry: RawEntry, state: dict[str, Any]) -> DecodeResult:
    """Decode a document: one conversation, a tree of messages."""
    document = parse_document(entry.data)
    if not isinstance(document.get("mapping"), dict):
        reject_entry("a document without messages")
    stem = printable_name(entry.source.parts[-1]).removesuffix(".json")
    ids = (document.get("conversation_id"), document.get("id"), stem)
    session_id = next(filter(None, map(as_text, ids)), "unknown")
    try:
        key = SessionKey(entry.source.agent, session_id)
        records = tuple(_decode_document(document, key))
    except RecursionError:
        reject_entry("nested too deeply")
    return DecodeResult(records=records, state=state)


def _decode_document(document: dict[str, Any], key: SessionKey) -> Iterator[Record]:
    header = LogEntry(
        key=key,
        native_id="opened",
        scope=key.session_id,
        created_at=parse_time(document.get("create_time")),
    )
    yield header.make_event("opened")
    if title := as_text(document.get("title")):
        yield header.make_event("title", title, block=1, title_kind="ai")
    model = as_text(document.get("default_model_slug"))
    for node_id, parent_id, message in _list_messages(document):
        metadata = as_dict(message.get("metadata"))
        entry = LogEntry(
            key=key,
            native_id=node_id,
            scope=key.session_id,
            created_at=parse_time(message.get("create_time")),
            parent_id=parent_id,
            model=as_text(metadata.get("model_slug")) or model,
        )
        yield from _decode_message(entry, message)


def _list_messages(
    document: dict[str, Any],
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each message as (its id, id of the message before it, message).

    Each branch is complete before the next one begins; the current branch comes last.
    Messages that are both hidden and empty are skipped.
    """
    nodes = {id_: as_dict(node) for id_, node in as_dict(document["mapping"]).items()}
    current_ids = _list_ancestors(nodes, as_text(document.get("current_node")))
    roots = [
        id_ for id_, node in nodes.items() if as_text(node.get("parent")) not in nodes
    ]
    pending = [(id_, "") for id_ in sorted(roots, key=current_ids.__contains__)][::-1]
    visited: set[str] = set()
    while pending:
        node_id, parent_id = pending.pop()
        if node_id in visited:
            continue
        visited.add(node_id)
        message = as_dict(nodes[node_id].get("message"))
        if message and not _is_hidden(message):
            yield node_id, parent_id, message
            parent_id = node_id
        children = [
            id_
            for id_ in as_list(nodes[node_id].get("children"))
            if isinstance(id_, str) and id_ in nodes
        ]
        children.sort(key=current_ids.__contains__)
        pending += [(id_, parent_id) for id_ in reversed(children)]


def _list_ancestors(nodes: dict[str, dict[str, Any]], node_id: str) -> set[str]:
    """Return the ids of the nodes from this one to the root."""
    ancestors: set[str] = set()
    while node_id in nodes and node_id not in ancestors:
        ancestors.add(node_id)
        node_id = as_text(nodes[node_id].get("parent"))
    return ancestors


def _is_hidden(message: dict[str, Any]) -> bool:
    """Return whether a message is an empty one that the program adds."""
    metadata = as_dict(message.get("metadata"))
    is_hidden = metadata.get("is_visually_hidden_from_conversation") is True
    return is_hidden and not _get_text(as_dict(message.get("content"))).strip()


def _decode_message(entry: LogEntry, message: dict[str, Any]) -> Iterator[Record]:
    content = as_dict(message.get("content"))
    kind, text = as_text(content.get("content_type")), _get_text(content)
    author = as_dict(message.get("author"))
    recipient = as_text(message.get("recipient")) or "all"
    match author.get("role"):
        case "system":
            yield entry.make_event("context", text, note="system_prompt")
        case "user" if kind in _CONTEXT_TYPES:
            yield entry.make_event("context", text, note=kind)
        case "user":
            yield entry.make_prompt(text)
        case "assistant" if kind in ("thoughts", "reasoning_recap"):
            yield entry.make_thinking(text)
        case "assistant" if recipient != "all":
            yield entry.make_call(recipient, entry.native_id, _parse_input(text))
        case "assistant":
            yield from _decode_answer(entry, message, text)
        case "tool":
            yield _decode_result(entry, message, text)
        case _:
            yield entry.make_unknown(message)


def _decode_answer(
    entry: LogEntry, message: dict[str, Any], text: str
) -> Iterator[Record]:
    details = as_dict(as_dict(message.get("metadata")).get("finish_details"))
    is_cut = details.get("type") == "max_tokens"
    is_end = message.get("end_turn") is True
    reason = "max_tokens" if is_cut else "end_turn" if is_end else ""
    yield entry.make_answer(text, stop_reason=reason)
    if details.get("type") == "interrupted":
        yield entry.make_event("turn_ended", block=_END_BLOCK, note="interrupt")


def _decode_result(entry: LogEntry, message: dict[str, Any], text: str) -> Record:
    """Decode a tool result; the message before it is the call."""
    content = as_dict(message.get("content"))
    is_error = content.get("content_type") == "system_error"
    facts = {"is_error": True} if is_error else {}
    name = as_text(as_dict(message.get("author")).get("name"))
    return entry.make_result(name, entry.parent_id, text, **facts)


def _parse_input(text: str) -> Any:
    """Return a call's arguments; text that is not JSON becomes `input`."""
    return text if text.lstrip()[:1] == "{" else {"input": text}


def _get_text(content: dict[str, Any]) -> str:
    """Return the text of a message of any type."""
    if "parts" in content:
        parts = (_format_part(part) for part in as_list(content.get("parts")))
        return "\n\n".join(filter(None, parts))
    if "thoughts" in content:
        thoughts = map(as_dict, as_list(content.get("thoughts")))
        texts = (as_text(each.get("content")) for each in thoughts)
        return "\n\n".join(filter(None, texts))
    names = ("text", "result", "content", "user_instructions", "model_set_context")
    values = [as_text(content.get(name)) for name in names]
    return "\n\n".join(filter(None, values))


def _format_part(part: object) -> str:
    """Return a part of a message: text, or a placeholder for a file."""
    if isinstance(part, str):
        return part
    fields = as_dict(part)
    if text := as_text(fields.get("text")):
        return text
    kind = as_text(fields.get("content_type")).removesuffix("_asset_pointer")
    pointer = as_text(fields.get("asset_pointer"))
    return f"[{kind or 'part'} {pointer or to_json(part)}]"
