"""From a unit to a document: redacted first, then cut to its limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.sinks.leslie.cutting import cut_bytes, cut_characters
from leslied.sinks.leslie.document import (
    Assistant,
    Call,
    Cut,
    Document,
    Failure,
    Result,
    Subagent,
    User,
)
from leslied.sinks.leslie.text import serialize, write_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime, tzinfo

    from leslied.model.record import Record
    from leslied.model.session import Unit
    from leslied.sinks.leslie.document import Block

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What a terminal obeys or a reader cannot see: people will `cat` these files."""
_MOST_GAPS = 2
"""Before the last answer, and behind it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a unit its transcript shows."""

    params: int = 200
    result: int = 200
    query: int = 4096
    file: int = 20_480
    has_thinking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a document says that its unit does not know."""

    thread_id: str
    zone: tzinfo
    redact: Callable[[str], str]
    limits: Limits = field(default_factory=Limits)
    parent_chat_id: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """The file of each subagent, by its id."""


def shape(unit: Unit, setting: Setting) -> Document:
    """The unit as a document within its limits."""
    source = unit.summary.key.source if unit.summary.is_subagent else ""
    document = Document(
        thread_id=setting.thread_id,
        chat_id=unit.chat_id,
        started_at=_in_zone(unit.started_at, setting),
        ended_at=_in_zone(unit.ended_at, setting),
        agent_mode=unit.agent_mode,
        stop_reason=unit.stop_reason,
        tool_calls=unit.tool_calls,
        source=source,
        parent_chat_id=setting.parent_chat_id if source else "",
        blocks=tuple(_make_blocks(unit, setting)),
    )
    return _fit(document, setting.limits)


def _in_zone(time: datetime | None, setting: Setting) -> datetime | None:
    return time.astimezone(setting.zone).replace(microsecond=0) if time else None


def _make_blocks(unit: Unit, setting: Setting) -> Iterator[Block]:
    waiting = {child.summary.spawn_call_id: child for child in unit.subagents}
    for placed in unit.entries:
        record = placed.record
        block = _make_block(record, setting)
        if block:
            yield block
        child = waiting.pop(record.tool_call_id, None) if record.tool_call_id else None
        if child and record.type == "tool_use":
            yield _tell_subagent(child, setting)
        elif child:
            waiting[record.tool_call_id] = child
    for child in waiting.values():
        yield _tell_subagent(child, setting)


def _tell_subagent(child: Unit, setting: Setting) -> Subagent:
    name = child.summary.subagent_id
    return Subagent(name, setting.files.get(name, "-"))


def _make_block(record: Record, setting: Setting) -> Block | None:
    """The record's block; events and notices have none."""
    limits = setting.limits
    match record.type:
        case "user_message":
            return User(_clean(record.content, setting))
        case "assistant_message" if record.content.strip():
            return Assistant(_clean(record.content, setting))
        case "thinking" if limits.has_thinking and record.content.strip():
            return Assistant(_clean(f"(thinking)\n{record.content}", setting))
        case "tool_use":
            params = _clean(record.tool_input, setting).replace("\n", " ")
            return Call(_name(record), cut_characters(params, limits.params))
        case "tool_result":
            text = _clean(record.content, setting)
            return Result(_name(record), cut_characters(text, limits.result))
        case "error":
            return Failure(_clean(record.content, setting))
        case _:
            return None


def _name(record: Record) -> str:
    return " ".join(_CONTROLS.sub(" ", record.tool_name).split()) or "unknown"


def _clean(text: str, setting: Setting) -> str:
    """Redacted before anything is cut off: half a secret is not recognised."""
    plain = text.replace("\r\n", "\n").strip("\n")
    return setting.redact(_CONTROLS.sub("\ufffd", plain))


def _fit(document: Document, limits: Limits) -> Document:
    """The document within the size of a file: the query and the last answer stay."""
    blocks = list(document.blocks)
    if blocks and isinstance(blocks[0], User):
        blocks[0] = User(cut_bytes(blocks[0].text, limits.query))
    document = replace(document, blocks=tuple(blocks))
    if _size(document) <= limits.file:
        return document
    header = _size(replace(document, blocks=()))
    mark = _weigh(Cut(len(blocks), 10**12, document.chat_id))
    kept = _choose(blocks, limits.file - header - _MOST_GAPS * mark)
    shown: list[Block] = []
    for is_kept, run in groupby(range(len(blocks)), kept.__contains__):
        if is_kept:
            shown += (kept[number] for number in run)
        else:
            left = [_weigh(blocks[number]) for number in run]
            shown.append(Cut(len(left), sum(left), document.chat_id))
    return replace(document, blocks=tuple(shown))


def _choose(blocks: list[Block], room: int) -> dict[int, Block]:
    """The blocks that fit: query, last answer, then from both ends inwards."""
    kept: dict[int, Block] = {}
    if isinstance(blocks[0], User):
        kept[0] = blocks[0]
        room -= _weigh(blocks[0])
    last = max(
        (n for n, b in enumerate(blocks) if isinstance(b, Assistant)), default=None
    )
    if last is not None and last not in kept:
        block = blocks[last]
        spare = room - _weigh(Assistant(""))
        kept[last] = Assistant(cut_bytes(getattr(block, "text", ""), spare - 64))
        room -= _weigh(kept[last])
    for step, start, share in ((1, 0, 2), (-1, len(blocks) - 1, 1)):
        budget = room // share
        for number in range(start, len(blocks) if step > 0 else -1, step):
            if number in kept:
                continue
            weight = _weigh(blocks[number])
            if weight > budget:
                break
            kept[number] = blocks[number]
            budget -= weight
            room -= weight
    return kept


def _weigh(block: Block) -> int:
    """Bytes the block takes in the file, the blank line behind it included."""
    return len(write_block(block).encode()) + 2


def _size(document: Document) -> int:
    return len(serialize(document).encode())
