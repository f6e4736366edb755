"""From a unit to a document: redacted first, then cut to its limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.sinks.leslie.document import (
    AssistantBlock,
    CallBlock,
    CutBlock,
    ErrorBlock,
    ResultBlock,
    SubagentBlock,
    TranscriptDocument,
    UserBlock,
)
from leslied.sinks.leslie.text import serialize_block, serialize_document
from leslied.sinks.leslie.truncate import truncate_bytes, truncate_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime, tzinfo

    from leslied.model.record import Record
    from leslied.model.session import Unit
    from leslied.sinks.leslie.document import TranscriptBlock

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What a terminal obeys or a reader cannot see: people will `cat` these files."""
_MAX_GAPS = 2
"""Before the last answer, and behind it."""


@dataclass(frozen=True, slots=True)
class TranscriptLimits:
    """How much of a unit its transcript shows."""

    params: int = 200
    result: int = 200
    query: int = 4096
    file: int = 20_480
    include_thinking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptOptions:
    """What a document says that its unit does not know."""

    thread_id: str
    zone: tzinfo
    redact: Callable[[str], str]
    limits: TranscriptLimits = field(default_factory=TranscriptLimits)
    parent_chat_id: str = ""
    subagent_files: Mapping[str, str] = field(default_factory=dict)
    """The file of each subagent, by its id."""


def shape_document(unit: Unit, options: TranscriptOptions) -> TranscriptDocument:
    """The unit as a document within its limits."""
    source = unit.summary.key.source if unit.summary.is_subagent else ""
    document = TranscriptDocument(
        thread_id=options.thread_id,
        chat_id=unit.chat_id,
        started_at=_to_local(unit.started_at, options),
        ended_at=_to_local(unit.ended_at, options),
        agent_mode=unit.agent_mode,
        stop_reason=unit.stop_reason,
        tool_calls=unit.tool_calls,
        source=source,
        parent_chat_id=options.parent_chat_id if source else "",
        blocks=tuple(_make_blocks(unit, options)),
    )
    return _fit(document, options.limits)


def _to_local(time: datetime | None, options: TranscriptOptions) -> datetime | None:
    return time.astimezone(options.zone).replace(microsecond=0) if time else None


def _make_blocks(unit: Unit, options: TranscriptOptions) -> Iterator[TranscriptBlock]:
    waiting = {child.summary.spawn_call_id: child for child in unit.subagents}
    for placed in unit.entries:
        record = placed.record
        block = _make_block(record, options)
        if block:
            yield block
        child = waiting.pop(record.tool_call_id, None) if record.tool_call_id else None
        if child and record.type == "tool_use":
            yield _make_subagent_block(child, options)
        elif child:
            waiting[record.tool_call_id] = child
    for child in waiting.values():
        yield _make_subagent_block(child, options)


def _make_subagent_block(child: Unit, options: TranscriptOptions) -> SubagentBlock:
    name = child.summary.subagent_id
    return SubagentBlock(name, options.subagent_files.get(name, "-"))


def _make_block(record: Record, options: TranscriptOptions) -> TranscriptBlock | None:
    """The record's block; events and notices have none."""
    limits = options.limits
    match record.type:
        case "user_message":
            return UserBlock(_clean(record.content, options))
        case "assistant_message" if record.content.strip():
            return AssistantBlock(_clean(record.content, options))
        case "thinking" if limits.include_thinking and record.content.strip():
            return AssistantBlock(_clean(f"(thinking)\n{record.content}", options))
        case "tool_use":
            params = _clean(record.tool_input, options).replace("\n", " ")
            return CallBlock(
                _get_tool_name(record), truncate_characters(params, limits.params)
            )
        case "tool_result":
            text = _clean(record.content, options)
            return ResultBlock(
                _get_tool_name(record), truncate_characters(text, limits.result)
            )
        case "error":
            return ErrorBlock(_clean(record.content, options))
        case _:
            return None


def _get_tool_name(record: Record) -> str:
    return " ".join(_CONTROLS.sub(" ", record.tool_name).split()) or "unknown"


def _clean(text: str, options: TranscriptOptions) -> str:
    """Redacted before anything is cut off: half a secret is not recognised."""
    plain = text.replace("\r\n", "\n").strip("\n")
    return options.redact(_CONTROLS.sub("\ufffd", plain))


def _fit(document: TranscriptDocument, limits: TranscriptLimits) -> TranscriptDocument:
    """The document within the size of a file: the query and the last answer stay."""
    blocks = list(document.blocks)
    if blocks and isinstance(blocks[0], UserBlock):
        blocks[0] = UserBlock(truncate_bytes(blocks[0].text, limits.query))
    document = replace(document, blocks=tuple(blocks))
    if _count_document_bytes(document) <= limits.file:
        return document
    header = _count_document_bytes(replace(document, blocks=()))
    mark = _count_block_bytes(CutBlock(len(blocks), 10**12, document.chat_id))
    kept = _select_blocks(blocks, limits.file - header - _MAX_GAPS * mark)
    shown: list[TranscriptBlock] = []
    for is_kept, run in groupby(range(len(blocks)), kept.__contains__):
        if is_kept:
            shown += (kept[number] for number in run)
        else:
            left = [_count_block_bytes(blocks[number]) for number in run]
            shown.append(CutBlock(len(left), sum(left), document.chat_id))
    return replace(document, blocks=tuple(shown))


def _select_blocks(
    blocks: list[TranscriptBlock], room: int
) -> dict[int, TranscriptBlock]:
    """The blocks that fit: query, last answer, then from both ends inwards."""
    kept: dict[int, TranscriptBlock] = {}
    if isinstance(blocks[0], UserBlock):
        kept[0] = blocks[0]
        room -= _count_block_bytes(blocks[0])
    last = max(
        (n for n, b in enumerate(blocks) if isinstance(b, AssistantBlock)), default=None
    )
    if last is not None and last not in kept:
        block = blocks[last]
        spare = room - _count_block_bytes(AssistantBlock(""))
        kept[last] = AssistantBlock(
            truncate_bytes(getattr(block, "text", ""), spare - 64)
        )
        room -= _count_block_bytes(kept[last])
    for step, start, share in ((1, 0, 2), (-1, len(blocks) - 1, 1)):
        budget = room // share
        for number in range(start, len(blocks) if step > 0 else -1, step):
            if number in kept:
                continue
            weight = _count_block_bytes(blocks[number])
            if weight > budget:
                break
            kept[number] = blocks[number]
            budget -= weight
            room -= weight
    return kept


def _count_block_bytes(block: TranscriptBlock) -> int:
    """Bytes the block takes in the file, the blank line behind it included."""
    return len(serialize_block(block).encode()) + 2


def _count_document_bytes(document: TranscriptDocument) -> int:
    return len(serialize_document(document).encode())
