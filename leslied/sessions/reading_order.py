"""Entries in reading order: each result together with its call."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord

    Step = tuple[PlacedRecord, PlacedRecord | None]
    """An entry and, if it is a call that has one, its result."""


def pair_results(entries: Sequence[PlacedRecord]) -> list[Step]:
    """Return every entry once, in order, each call together with its result.

    If several calls and results share an id, they are paired in order.
    """
    results_by_call: dict[str, deque[PlacedRecord]] = defaultdict(deque)
    for placed in entries:
        if placed.record.type == "tool_result" and placed.record.tool_call_id:
            results_by_call[placed.record.tool_call_id].append(placed)
    results_by_position: dict[int, PlacedRecord] = {}
    for position, placed in enumerate(entries):
        candidates = results_by_call.get(placed.record.tool_call_id)
        if placed.record.type == "tool_use" and candidates:
            results_by_position[position] = candidates.popleft()
    paired_objects = {id(result) for result in results_by_position.values()}
    return [
        (placed, results_by_position.get(position))
        for position, placed in enumerate(entries)
        if id(placed) not in paired_objects
    ]
