"""Conversion of a unit to a document that is within its limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from leslied.control_characters import format_one_line
from leslied.model.omitted_text import count_bytes, load_whole
from leslied.rendering.transcript_document import (
    AssistantBlock,
    CutBlock,
    TranscriptDocument,
    UserBlock,
)
from leslied.rendering.transcript_text import serialize_block, serialize_document
from leslied.sinks.leslie.drafts import make_drafts
from leslied.sinks.leslie.truncate import take_whole, truncate_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leslied.model.session import Unit
    from leslied.rendering.transcript_document import TranscriptBlock
    from leslied.sinks.leslie.drafts import Draft, TranscriptOptions

_MAX_CUTS = 2
"""Maximum number of cut blocks: one before and one after the last answer."""
_MAX_OMITTED_BYTES = 10**12
"""A count with more digits than any real one, to reserve space for a cut block."""
_ESCAPE_RESERVE_BYTES = 64
"""Bytes reserved for the backslashes that escape lines of the last answer."""


def shape_document(unit: Unit, options: TranscriptOptions) -> TranscriptDocument:
    """Return the unit as a document within its limits, without secrets."""
    redact = options.redactor.redact
    source = redact(unit.summary.key.source) if unit.summary.is_subagent else ""
    # Logs choose some of these ids, and a line end in one would start another field.
    header = TranscriptDocument(
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
    )
    command = f"leslied show --full {header.chat_id}"
    blocks = _Blocks(list(make_drafts(unit, options)), options, command)
    return replace(header, blocks=tuple(_fit_to_file(header, blocks)))


def _to_local(time: datetime | None, options: TranscriptOptions) -> datetime | None:
    return time.astimezone(options.zone).replace(microsecond=0) if time else None


@dataclass(slots=True)
class _Blocks:
    """The blocks of a document; each is made when it is first needed."""

    drafts: list[Draft]
    options: TranscriptOptions
    command: str
    """The command that shows the whole unit."""
    _made: dict[int, tuple[TranscriptBlock, int]] = field(default_factory=dict)
    """Blocks with their sizes, by position."""

    @property
    def has_prompt(self) -> bool:
        """Whether the first block is the prompt."""
        return bool(self.drafts) and self.drafts[0].kind is UserBlock

    def get(self, position: int) -> TranscriptBlock:
        """Return a block; the prompt is shortened."""
        return self._make(position)[0]

    def count_bytes(self, position: int) -> int:
        """Return the size of a block in the file."""
        return self._make(position)[1]

    def _make(self, position: int) -> tuple[TranscriptBlock, int]:
        if position not in self._made:
            is_prompt = position == 0 and self.has_prompt
            block = self._make_prompt() if is_prompt else self.drafts[position].make()
            self._made[position] = (block, _count_block_bytes(block))
        return self._made[position]

    def _make_prompt(self) -> UserBlock:
        excerpt = take_whole(load_whole(self.drafts[0].text), self.options.redactor)
        limit = self.options.limits.query
        return UserBlock(truncate_bytes(excerpt, limit, self.command))

    def truncate_answer(self, position: int, max_bytes: int) -> AssistantBlock:
        """Return an answer with as much of its text as fits, its escapes included."""
        text = load_whole(self.drafts[position].text)
        excerpt = take_whole(text, self.options.redactor)
        text_bytes = max_bytes - _count_block_bytes(AssistantBlock(""))
        text_bytes -= _ESCAPE_RESERVE_BYTES
        while text_bytes > 0:
            block = AssistantBlock(truncate_bytes(excerpt, text_bytes, self.command))
            excess_bytes = _count_block_bytes(block) - max_bytes
            if excess_bytes <= 0:
                return block
            text_bytes -= excess_bytes
        return AssistantBlock("")

    def find_last_answer(self) -> int | None:
        """Return the position of the last answer, or None."""
        positions = reversed(range(len(self.drafts)))
        return next(
            (n for n in positions if self.drafts[n].kind is AssistantBlock), None
        )

    def sum_bytes(self, positions: Iterable[int], max_bytes: int) -> int:
        """Return the size of these blocks; stop adding when it exceeds `max_bytes`."""
        total = 0
        for position in positions:
            total += self.count_bytes(position)
            if total > max_bytes:
                break
        return total


def _fit_to_file(header: TranscriptDocument, blocks: _Blocks) -> list[TranscriptBlock]:
    """Return the blocks of the document; omit some if the file would be too large."""
    limit = blocks.options.limits.file
    header_bytes = len(serialize_document(header).encode())
    positions = range(len(blocks.drafts))
    free_bytes = limit - header_bytes
    # No blank line follows the last block.
    if blocks.sum_bytes(positions, free_bytes + 2) <= free_bytes + 2:
        return [blocks.get(position) for position in positions]
    cut = CutBlock(len(positions), _MAX_OMITTED_BYTES, header.chat_id)
    cut_bytes = _count_block_bytes(cut)
    selected = _select_blocks(blocks, free_bytes - _MAX_CUTS * cut_bytes)
    shown: list[TranscriptBlock] = []
    # Each run of omitted blocks becomes one cut block.
    for is_selected, run_positions in groupby(positions, key=lambda n: n in selected):
        if is_selected:
            shown += (selected[position] for position in run_positions)
        else:
            sizes = [
                count_bytes(blocks.drafts[position].text) for position in run_positions
            ]
            shown.append(CutBlock(len(sizes), sum(sizes), header.chat_id))
    return shown


def _select_blocks(blocks: _Blocks, free_bytes: int) -> dict[int, TranscriptBlock]:
    """Return the blocks that fit, by position.

    The prompt and the last answer are selected first, then blocks from the start, which
    may use half of the remaining bytes, and blocks from the end.
    """
    selected: dict[int, TranscriptBlock] = {}
    if blocks.has_prompt:
        selected[0] = blocks.get(0)
        free_bytes -= blocks.count_bytes(0)
    last_answer = blocks.find_last_answer()
    if last_answer is not None:
        answer = _fit_answer(blocks, last_answer, free_bytes)
        selected[last_answer] = answer
        free_bytes -= _count_block_bytes(answer)
    positions = range(len(blocks.drafts))
    free_bytes -= _select_in_order(blocks, positions, free_bytes // 2, selected)
    _select_in_order(blocks, reversed(positions), free_bytes, selected)
    return selected


def _fit_answer(blocks: _Blocks, position: int, free_bytes: int) -> AssistantBlock:
    """Return the last answer, shortened if it does not fit."""
    answer_bytes = free_bytes
    if blocks.count_bytes(position) > free_bytes:
        # An answer that is cut anyway leaves room for the blocks around it.
        first = 1 if blocks.has_prompt else 0
        others = (n for n in range(first, len(blocks.drafts)) if n != position)
        other_bytes = blocks.sum_bytes(others, free_bytes // 2)
        answer_bytes = max(free_bytes - other_bytes, free_bytes // 2)
    return blocks.truncate_answer(position, answer_bytes)


def _select_in_order(
    blocks: _Blocks,
    positions: Iterable[int],
    max_bytes: int,
    selected: dict[int, TranscriptBlock],
) -> int:
    """Add blocks to `selected` up to the first that does not fit in `max_bytes`.

    Return the number of bytes that the added blocks need.
    """
    used_bytes = 0
    for position in positions:
        if position in selected:
            continue
        size = blocks.count_bytes(position)
        if used_bytes + size > max_bytes:
            break
        selected[position] = blocks.get(position)
        used_bytes += size
    return used_bytes


def _count_block_bytes(block: TranscriptBlock) -> int:
    """Return the block's size in the file, including the blank line after it."""
    return count_bytes(serialize_block(block)) + 2
