"""Conversion of a unit to a document, which is cut to the limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.control_characters import (
    format_one_line,
    replace_control_characters,
)
from leslied.rendering.events import EventFinder
from leslied.rendering.messages import get_report_or_text
from leslied.sessions.calls import number_parallel_calls
from leslied.sinks.leslie.document import (
    AssistantBlock,
    CallBlock,
    CompactedBlock,
    CutBlock,
    ErrorBlock,
    NotificationBlock,
    ResultBlock,
    SubagentBlock,
    TranscriptDocument,
    UserBlock,
)
from leslied.sinks.leslie.text import serialize_block, serialize_document
from leslied.sinks.leslie.truncate import truncate_bytes, truncate_characters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime, tzinfo

    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit
    from leslied.rendering.events import ShownEvent
    from leslied.sinks.leslie.document import TranscriptBlock

_MAX_CUTS = 2
"""Maximum number of cut blocks: one before and one after the last answer."""
_MAX_OMITTED_BYTES = 10**12
"""A count with more digits than any real one, to reserve space for a cut block."""
_ENTRY_ID_DIGITS = 12
"""Digits of an entry's id in a note: enough to find it among millions of entries."""
_NO_RESULT = "(no result)"
"""Stands for the result of a call that the agent was stopped in."""
_FAILED = "(failed)"
_FAILURE_PREFIXES = ("Exit code ", "Error", "error", "API Error")
"""Starts of results that say themselves that the call failed."""
_ESCAPE_RESERVE_BYTES = 64
"""Bytes reserved for the backslashes that escape lines of the last answer."""


@dataclass(frozen=True, slots=True)
class TranscriptLimits:
    """Limits of a transcript."""

    params: int = 200
    """Characters of the parameters of a call."""
    result: int = 200
    """Characters of a result."""
    query: int = 4096
    """Bytes of the prompt."""
    file: int = 20_480
    """Bytes of the file."""
    include_thinking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptOptions:
    """Inputs of a document that its unit does not contain."""

    thread_id: str
    zone: tzinfo
    limits: TranscriptLimits = field(default_factory=TranscriptLimits)
    parent_chat_id: str = ""
    subagent_files: Mapping[str, str] = field(default_factory=dict)
    """File name of each subagent's transcript, by subagent id."""


def shape_document(unit: Unit, options: TranscriptOptions) -> TranscriptDocument:
    """Return the unit as a document within its limits.

    The unit must be redacted: a truncated secret would not be recognised.
    """
    source = unit.summary.key.source if unit.summary.is_subagent else ""
    # Logs choose some of these ids, and a line end in one would start another field.
    document = TranscriptDocument(
        thread_id=format_one_line(options.thread_id),
        chat_id=unit.chat_id,
        started_at=_to_local(unit.started_at, options),
        ended_at=_to_local(unit.ended_at, options),
        agent_mode=unit.agent_mode,
        stop_reason=unit.stop_reason,
        tool_calls=unit.tool_calls,
        source=format_one_line(source),
        parent_chat_id=options.parent_chat_id if source else "",
        is_rewound=unit.is_rewound,
        blocks=tuple(_make_blocks(unit, options)),
    )
    return _fit_to_limits(document, options.limits)


def _to_local(time: datetime | None, options: TranscriptOptions) -> datetime | None:
    return time.astimezone(options.zone).replace(microsecond=0) if time else None


def _make_blocks(unit: Unit, options: TranscriptOptions) -> Iterator[TranscriptBlock]:
    """Yield the unit's blocks; a subagent follows its call, or else comes last."""
    children_by_call: dict[str, list[Unit]] = {}
    for child in unit.subagents:
        children_by_call.setdefault(child.summary.spawn_call_id, []).append(child)
    entries = unit.own_entries
    indexes = number_parallel_calls(entries)
    answered = {
        p.record.tool_call_id for p in entries if p.record.type == "tool_result"
    }
    events = EventFinder()
    for position, placed in enumerate(entries):
        record = placed.record
        event, index = events.find_event(record), indexes.get(position, 0)
        block = (
            _make_event_block(event, placed, options.limits)
            if event
            else _make_block(placed, options.limits, index)
        )
        if block:
            yield block
        if record.type == "tool_use" and record.tool_call_id:
            for child in children_by_call.pop(record.tool_call_id, ()):
                yield _make_subagent_block(child, options)
            if record.tool_call_id not in answered:
                yield ResultBlock(_get_tool_name(record), _NO_RESULT, index)
    for unlinked_children in children_by_call.values():
        for child in unlinked_children:
            yield _make_subagent_block(child, options)


def _make_subagent_block(child: Unit, options: TranscriptOptions) -> SubagentBlock:
    name = child.summary.subagent_id
    return SubagentBlock(format_one_line(name), options.subagent_files.get(name, "-"))


def _make_event_block(
    event: ShownEvent, placed: PlacedRecord, limits: TranscriptLimits
) -> TranscriptBlock | None:
    """Return the event's block, or None if transcripts do not show the event."""
    if event.kind == "notification":
        text = event.text
        if event.detail:
            text = f"{text.rstrip('.')}: {event.detail}"
        text = _truncate(format_one_line(text), limits.result, placed)
        return NotificationBlock(text)
    if event.kind == "compacted" and event.text:
        return CompactedBlock()
    return None


def _make_block(
    placed: PlacedRecord, limits: TranscriptLimits, index: int
) -> TranscriptBlock | None:
    """Return the record's block, or None if transcripts do not show the record."""
    record = placed.record
    match record.type:
        case "user_message":
            return UserBlock(_clean(record.content))
        case "assistant_message" if record.content.strip():
            return AssistantBlock(_clean(record.content))
        case "thinking" if limits.include_thinking and record.content.strip():
            return AssistantBlock(_clean(f"(thinking)\n{record.content}"))
        case "tool_use":
            params = _clean(record.tool_input).replace("\n", " ")
            text = _truncate(params, limits.params, placed)
            return CallBlock(_get_tool_name(record), text, index)
        case "tool_result" | "system_event" if record.is_output:
            result = _mark_failure(record, _clean(get_report_or_text(record)))
            text = _truncate(result, limits.result, placed)
            return ResultBlock(_get_tool_name(record), text, index)
        case "error":
            return ErrorBlock(_clean(record.content))
        case _:
            return None


def _mark_failure(record: Record, text: str) -> str:
    """Return the text of a result; that of a failed call says that it failed."""
    if not record.metadata.get("is_error") or text.startswith(_FAILURE_PREFIXES):
        return text
    return f"{_FAILED} {text}".rstrip()


def _get_tool_name(record: Record) -> str:
    return format_one_line(record.tool_name) or "unknown"


def _clean(text: str) -> str:
    """Replace control characters."""
    return replace_control_characters(text.replace("\r\n", "\n").strip("\n"))


def _truncate(text: str, limit: int, placed: PlacedRecord) -> str:
    """Shorten a text of the entry, and name the command that shows the entry."""
    command = f"leslied show {placed.entry_id[:_ENTRY_ID_DIGITS]}"
    return truncate_characters(text, limit, command)


def _fit_to_limits(
    document: TranscriptDocument, limits: TranscriptLimits
) -> TranscriptDocument:
    """Truncate the prompt, and omit blocks if the file would be too large."""
    blocks = list(document.blocks)
    command = f"leslied show --full {document.chat_id}"
    if blocks and isinstance(blocks[0], UserBlock):
        blocks[0] = UserBlock(truncate_bytes(blocks[0].text, limits.query, command))
    document = replace(document, blocks=tuple(blocks))
    if _count_document_bytes(document) <= limits.file:
        return document
    header_bytes = _count_document_bytes(replace(document, blocks=()))
    cut_bytes = _count_block_bytes(
        CutBlock(len(blocks), _MAX_OMITTED_BYTES, document.chat_id)
    )
    selected = _select_blocks(
        blocks, limits.file - header_bytes - _MAX_CUTS * cut_bytes, command
    )
    remaining: list[TranscriptBlock] = []
    # Each run of omitted blocks becomes one cut block.
    for is_selected, positions in groupby(
        range(len(blocks)), key=lambda position: position in selected
    ):
        if is_selected:
            remaining += (selected[position] for position in positions)
        else:
            sizes = [_count_block_bytes(blocks[position]) for position in positions]
            remaining.append(CutBlock(len(sizes), sum(sizes), document.chat_id))
    return replace(document, blocks=tuple(remaining))


def _select_blocks(
    blocks: list[TranscriptBlock], free_bytes: int, command: str
) -> dict[int, TranscriptBlock]:
    """Return the blocks that fit, by position.

    The prompt and the last answer are selected first, then blocks from the start, which
    may use half of the remaining bytes, and blocks from the end.
    """
    selected: dict[int, TranscriptBlock] = {}
    if isinstance(blocks[0], UserBlock):
        selected[0] = blocks[0]
        free_bytes -= _count_block_bytes(blocks[0])
    last_answer = max(
        (
            position
            for position, block in enumerate(blocks)
            if isinstance(block, AssistantBlock)
        ),
        default=None,
    )
    if last_answer is not None and last_answer not in selected:
        text = getattr(blocks[last_answer], "text", "")
        answer_bytes = free_bytes
        if _count_block_bytes(blocks[last_answer]) > free_bytes:
            # An answer that is cut anyway leaves room for the blocks around it.
            others = (b for n, b in enumerate(blocks) if n not in (0, last_answer))
            other_bytes = sum(map(_count_block_bytes, others))
            answer_bytes = max(free_bytes - other_bytes, free_bytes // 2)
        selected[last_answer] = _truncate_answer(text, answer_bytes, command)
        free_bytes -= _count_block_bytes(selected[last_answer])
    positions = range(len(blocks))
    free_bytes -= _select_in_order(blocks, positions, free_bytes // 2, selected)
    _select_in_order(blocks, reversed(positions), free_bytes, selected)
    return selected


def _truncate_answer(text: str, max_bytes: int, command: str) -> AssistantBlock:
    """Return a block with as much of the text as fits, its escapes included."""
    text_bytes = max_bytes - _count_block_bytes(AssistantBlock(""))
    text_bytes -= _ESCAPE_RESERVE_BYTES
    while text_bytes > 0:
        block = AssistantBlock(truncate_bytes(text, text_bytes, command))
        excess_bytes = _count_block_bytes(block) - max_bytes
        if excess_bytes <= 0:
            return block
        text_bytes -= excess_bytes
    return AssistantBlock("")


def _select_in_order(
    blocks: list[TranscriptBlock],
    positions: Iterable[int],
    budget: int,
    selected: dict[int, TranscriptBlock],
) -> int:
    """Add blocks to `selected` up to the first that does not fit in `budget` bytes.

    Return the number of bytes that the added blocks need.
    """
    used_bytes = 0
    for position in positions:
        if position in selected:
            continue
        size = _count_block_bytes(blocks[position])
        if used_bytes + size > budget:
            break
        selected[position] = blocks[position]
        used_bytes += size
    return used_bytes


def _count_block_bytes(block: TranscriptBlock) -> int:
    """Return the block's size in the file, including the blank line after it."""
    return len(serialize_block(block).encode()) + 2


def _count_document_bytes(document: TranscriptDocument) -> int:
    return len(serialize_document(document).encode())
