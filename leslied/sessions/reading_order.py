"""Entries in the order they are best read."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord

    Step = tuple[PlacedRecord, PlacedRecord | None]


def pair_results(entries: Sequence[PlacedRecord]) -> list[Step]:
    """Every entry once; a result stands with its call, also when calls ran together.

    Where several calls or results share an id, the first goes with the first.
    """
    waiting: dict[str, deque[PlacedRecord]] = defaultdict(deque)
    for placed in entries:
        if placed.record.type == "tool_result" and placed.record.tool_call_id:
            waiting[placed.record.tool_call_id].append(placed)
    answers: dict[int, PlacedRecord] = {}
    for number, placed in enumerate(entries):
        found = waiting.get(placed.record.tool_call_id)
        if placed.record.type == "tool_use" and found:
            answers[number] = found.popleft()
    told = {id(answer) for answer in answers.values()}
    return [
        (placed, answers.get(number))
        for number, placed in enumerate(entries)
        if id(placed) not in told
    ]
