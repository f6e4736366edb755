"""Tool calls joined with their results, by call id."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.model.record import PlacedRecord, Record, RecordType

    Step = tuple[PlacedRecord, PlacedRecord | None]
    """An entry and, for a call, its result if there is one."""


_STEP_TYPES = ("user_message", "assistant_message", "tool_result")


class CallResults:
    """The calls among some entries and their results.

    If several calls and results share an id, they are joined in order. A result that
    the client added when it resumed the session counts only if its call has no other
    result, because the tool may still run in another process.
    """

    def __init__(self, entries: Iterable[PlacedRecord]) -> None:
        self._entries = tuple(entries)
        self._calls = self._group_by_id("tool_use")
        # Results that were added when the session was resumed come last, so that
        # calls are joined with the other results first.
        self._results = {
            call_id: sorted(results, key=_is_added_at_resume)
            if len(results) > 1
            else results
            for call_id, results in self._group_by_id("tool_result").items()
        }
        # Keyed by `id()`, because records are not hashable.
        self._result_by_call = {
            id(call): result
            for call_id, calls in self._calls.items()
            for call, result in zip(calls, self._results.get(call_id, ()), strict=False)
        }
        self._joined_results = {id(result) for result in self._result_by_call.values()}

    def find_result(self, call: PlacedRecord) -> PlacedRecord | None:
        """Return the result of a call, or None."""
        return self._result_by_call.get(id(call))

    def is_joined(self, result: PlacedRecord) -> bool:
        """Return whether the entry is the result of one of the calls."""
        return id(result) in self._joined_results

    def find_call(self, call_id: str) -> PlacedRecord | None:
        """Return the last call with this id, or None."""
        calls = self._calls.get(call_id)
        return calls[-1] if calls else None

    def link(self, placed: PlacedRecord) -> PlacedRecord:
        """Return an entry with what its counterpart adds to it.

        A result gets the tool's name from its call. A result without a call, and a call
        without a result, are marked in their metadata. Other entries stay as they are.
        """
        record = placed.record
        if record.type == "tool_result":
            return replace(placed, record=self._link_result(record))
        if record.type == "tool_use" and record.tool_call_id not in self._results:
            metadata = {**record.metadata, "is_unanswered": True}
            return replace(placed, record=replace(record, metadata=metadata))
        return placed

    def _link_result(self, record: Record) -> Record:
        call = self.find_call(record.tool_call_id)
        if call is None:
            return replace(record, metadata={**record.metadata, "is_orphan": True})
        return replace(record, tool_name=call.record.tool_name or record.tool_name)

    def _group_by_id(self, record_type: RecordType) -> dict[str, list[PlacedRecord]]:
        """Return the entries of this type that have a call id, by that id."""
        groups: dict[str, list[PlacedRecord]] = defaultdict(list)
        for placed in self._entries:
            if placed.record.type == record_type and placed.record.tool_call_id:
                groups[placed.record.tool_call_id].append(placed)
        return dict(groups)


def _is_added_at_resume(result: PlacedRecord) -> bool:
    return bool(result.record.metadata.get("is_between_turns"))


def link_results(entries: Sequence[PlacedRecord]) -> list[PlacedRecord]:
    """Copy tool names to results; mark calls and results without a counterpart."""
    return list(map(CallResults(entries).link, entries))


class _CallSpan(NamedTuple):
    """The positions between which a call ran."""

    start: int
    end: int
    """Position of its result; without one, of the entry that shows that it was over."""
    has_result: bool


def number_parallel_calls(entries: Sequence[PlacedRecord]) -> dict[int, int]:
    """Return numbers, from 1, for calls that ran in parallel with others of their tool.

    The keys are positions in `entries`. A result has the number of its call.
    """
    groups: list[list[_CallSpan]] = []
    last_groups: dict[str, tuple[list[_CallSpan], int]] = {}
    """The last group of calls of each tool, and the position where it ends."""
    for span in _list_call_spans(entries):
        name = entries[span.start].record.tool_name
        group, end = last_groups.get(name, ([], -1))
        if span.start > end:
            group = []
            groups.append(group)
        group.append(span)
        last_groups[name] = (group, max(end, span.end))
    numbers: dict[int, int] = {}
    for group in groups:
        for number, span in enumerate(group if len(group) > 1 else (), start=1):
            numbers[span.start] = number
            if span.has_result:
                numbers[span.end] = number
    return numbers


def _list_call_spans(entries: Sequence[PlacedRecord]) -> list[_CallSpan]:
    results = CallResults(entries)
    positions = {
        id(placed): position
        for position, placed in enumerate(entries)
        if placed.record.type == "tool_result"
    }
    spans = []
    # A call that was never answered is over when the agent gets or says something.
    next_step = len(entries)
    for position in reversed(range(len(entries))):
        placed = entries[position]
        if placed.record.type == "tool_use":
            result = results.find_result(placed)
            end = positions[id(result)] if result else next_step
            spans.append(_CallSpan(position, end, has_result=result is not None))
        elif placed.record.type in _STEP_TYPES:
            next_step = position
    return spans[::-1]


def pair_results(entries: Sequence[PlacedRecord]) -> list[Step]:
    """Return every entry once, in reading order: each call with its result."""
    results = CallResults(entries)
    return [
        (placed, results.find_result(placed))
        for placed in entries
        if not results.is_joined(placed)
    ]
