"""Decode an entry of a session's history in Mistral Vibe into records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from leslied.agents._entry import (
    LogEntry,
    as_dict,
    as_list,
    as_text,
    format_attachment,
)
from leslied.agents._parsing import mark_exit_code, parse_time, to_json
from leslied.model.record import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.record import Record

    Item = dict[str, Any]

_FINAL_STATUSES = frozenset({"completed", "failed", "skipped", "cancelled"})
"""Statuses of a tool call that has a result."""
_RESULT_FIELDS = ("type", "content", "structured_content", "_meta")
"""Fields that every result has."""
_TYPES = frozenset({"message", "reasoning", "effect", "notice", "checkpoint"})


def decode_item(log_entry: LogEntry, item: Item) -> Iterator[Record]:
    """Yield the records of an entry; none if it is not complete yet."""
    entry = replace(
        log_entry,
        native_id=as_text(item.get("id")),
        created_at=parse_time(item.get("createdAt")),
    )
    type_ = as_text(item.get("type"))
    if type_ not in _TYPES:
        yield entry.make_unknown(item, entry_type=type_)
    elif type_ == "effect":
        yield from _decode_effect(entry, item)
    elif item.get("generationStatus") != "in_progress":
        yield from _decode_complete_item(entry, type_, item)


def _decode_complete_item(entry: LogEntry, type_: str, item: Item) -> Iterator[Record]:
    match type_:
        case "message":
            yield _decode_message(entry, item)
        case "reasoning":
            summary = [as_text(text) for text in as_list(item.get("summary"))]
            text = as_text(item.get("text")) or "\n\n".join(filter(None, summary))
            if text.strip():
                yield _mark_discarded(entry.make_thinking(text), item)
        case "notice":
            note = as_text(as_dict(item.get("detail")).get("kind"))
            yield entry.make_event("notice", as_text(item.get("message")), note=note)
        case "checkpoint":
            yield _decode_checkpoint(entry, item)


def _decode_message(entry: LogEntry, item: Item) -> Record:
    """Decode a message; one that was sent while the agent worked is queued."""
    text = join_texts(item.get("content"))
    if item.get("role") == "assistant":
        return _mark_discarded(entry.make_answer(text), item)
    if item.get("role") != "user":
        return entry.make_unknown(item, role=as_text(item.get("role")))
    is_queued = item.get("source") == "turn_steer" and entry.key.source == MAIN
    prompt = entry.make_prompt(text, origin="queued" if is_queued else "")
    # The client may show less than it sends to the model: of a command, only the name.
    displayed_text = join_texts(as_dict(item.get("userDisplayContent")).get("content"))
    if not displayed_text or displayed_text == text:
        return prompt
    metadata = {**prompt.metadata, "attached": text}
    return structs.replace(prompt, content=displayed_text, metadata=metadata)


def _mark_discarded(record: Record, item: Item) -> Record:
    """Return the record, with the reason if the client discarded it."""
    outcome = as_dict(item.get("outcome"))
    if outcome.get("type") != "discarded":
        return record
    metadata = {**record.metadata, "discarded": as_text(outcome.get("cause"))}
    return structs.replace(record, metadata=metadata)


def _decode_checkpoint(entry: LogEntry, item: Item) -> Record:
    """Decode a compaction, or a change of the model or the agent."""
    kind, details = as_text(item.get("kind")), as_dict(item.get("details"))
    message = as_text(item.get("message"))
    if kind == "compaction":
        summary = join_texts(details.get("summary"))
        return entry.make_event("compacted", summary or message)
    event = entry.make_event("context", message, note=kind)
    if kind == "model_change":
        return structs.replace(event, model=as_text(details.get("model")))
    return event


def _decode_effect(entry: LogEntry, item: Item) -> Iterator[Record]:
    """Decode a tool call, and its result if it has one."""
    detail, state = as_dict(item.get("detail")), as_dict(item.get("state"))
    name = as_text(detail.get("toolName")) or as_text(item.get("title"))
    yield entry.make_call(name, entry.native_id, detail.get("input"))
    if as_text(state.get("status")) in _FINAL_STATUSES:
        text, facts = _parse_result(state)
        log_entry = replace(entry, created_at=parse_time(item.get("updatedAt")))
        yield log_entry.make_result(name, entry.native_id, text, block=1, **facts)


def _parse_result(state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a result, and facts such as `is_error`."""
    error, output = as_dict(state.get("error")), as_dict(state.get("output"))
    structured = as_dict(output.get("structured_content"))
    if "returncode" in structured:
        texts = [as_text(structured.get(name)) for name in ("stdout", "stderr")]
        text = "".join(texts).rstrip("\n")
        text, facts = mark_exit_code(text, structured.get("returncode"))
    else:
        text = as_text(state.get("outputText")) or join_texts(output.get("content"))
        facts = {}
    if state.get("status") != "completed":
        reason = as_text(state.get("reason")) or as_text(error.get("message"))
        return text or reason, {**facts, "is_error": True}
    if not text and "returncode" not in structured:
        other_fields = {k: output[k] for k in output if k not in _RESULT_FIELDS}
        fields = structured or other_fields
        text = to_json(fields) if fields else ""
    return text, facts


def join_texts(content: object) -> str:
    """Return the texts of a message, with placeholders for files."""
    if isinstance(content, str):
        return content
    parts = [as_dict(part) for part in as_list(content)]
    return "\n\n".join(filter(None, map(_part_text, parts)))


def _part_text(part: dict[str, Any]) -> str:
    match part.get("type"):
        case "image" | "audio":
            kind, media_type = as_text(part.get("type")), part.get("mimeType")
            return format_attachment(kind, media_type, part.get("data"))
        case "resource" | "resource_link":
            resource = as_dict(part.get("resource")) or part
            return f"[{as_text(resource.get('uri')) or 'resource'}]"
    return as_text(part.get("text"))
