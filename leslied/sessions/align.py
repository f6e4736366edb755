"""Which unit of one session stands against which of another, and how they differ. Pure.

Forks share entries, so units that begin with the same entry belong together; the others
are paired by the words of their prompts, in order. Inside a pair the same is done with
the entries, a call together with its result: results of calls that ran side by side
come in any order. Times and ids alone are no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.difference import EntryDifference, FieldDifference, UnitDifference
from leslied.sessions.reading_order import pair_results
from leslied.sessions.sequence_alignment import (
    align_sequences,
    find_anchors,
    find_gaps,
    iter_alignment,
)
from leslied.sessions.text_diff import compute_similarity, record_to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.difference import DiffStatus
    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

_COMPARED_EVENTS = {"interrupt", "compact_boundary"}
_MIN_PROMPT_SIMILARITY = 0.4
_MIN_CALL_SIMILARITY = 0.3
_MESSAGE_SIMILARITY_FLOOR = 0.05
"""Two messages of one speaker at one place are rather a pair than strangers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffScope:
    """What is compared beside prompts, answers, calls, results and errors."""

    include_thinking: bool = False
    include_subagents: bool = True

    def includes(self, record: Record) -> bool:
        """Whether the entry is compared."""
        has_words = bool(record.content.strip())
        match record.type:
            case "tool_use" | "tool_result":
                return True
            case "user_message" | "assistant_message" | "error":
                return has_words
            case "thinking":
                return has_words and self.include_thinking
            case "system_event":
                return record.metadata.get("note") in _COMPARED_EVENTS
            case _:
                return False


_DEFAULT_SCOPE = DiffScope()


def align_units(
    a: Sequence[Unit], b: Sequence[Unit], scope: DiffScope = _DEFAULT_SCOPE
) -> tuple[UnitDifference, ...]:
    """The units of both, woven into one list, each with what differs in it."""
    ours = [unit for unit in a if _is_compared(unit, scope)]
    theirs = [unit for unit in b if _is_compared(unit, scope)]
    return tuple(
        _compare_units(
            None if at_a is None else ours[at_a],
            None if at_b is None else theirs[at_b],
            scope,
        )
        for at_a, at_b in iter_alignment(
            _pair_units(ours, theirs), len(ours), len(theirs)
        )
    )


def _is_compared(unit: Unit, scope: DiffScope) -> bool:
    """What stands before the first prompt is often nothing that anybody said."""
    if unit.number or unit.summary.is_subagent or unit.subagents:
        return True
    return any(scope.includes(placed.record) for placed in unit.entries)


def _pair_units(a: Sequence[Unit], b: Sequence[Unit]) -> list[tuple[int, int]]:
    if len(a) == len(b) == 1:
        return [(0, 0)]
    pins = find_anchors(
        [_get_first_entry_id(unit) for unit in a],
        [_get_first_entry_id(unit) for unit in b],
    )
    prompts_a, prompts_b = (
        [_get_prompt(unit) for unit in a],
        [_get_prompt(unit) for unit in b],
    )
    pairs = list(pins)
    for gap_a, gap_b in find_gaps(pins, (len(a), len(b))):
        found = align_sequences(
            prompts_a[gap_a], prompts_b[gap_b], _compute_prompt_similarity
        )
        pairs += [(at_a + gap_a.start, at_b + gap_b.start) for at_a, at_b in found]
    return sorted(pairs)


def _get_first_entry_id(unit: Unit) -> str:
    """The id of the entry it begins with: the same in forks."""
    prompts = (p for p in unit.entries if p.record.type == "user_message")
    return next(prompts, unit.entries[0]).entry_id


def _get_prompt(unit: Unit) -> tuple[bool, str]:
    """Whether anybody asked, and what."""
    return bool(unit.number or unit.summary.is_subagent), unit.prompt.strip()


def _compute_prompt_similarity(one: tuple[bool, str], other: tuple[bool, str]) -> float:
    likeness = compute_similarity(one[1], other[1]) if one[0] == other[0] else 0.0
    return likeness if likeness >= _MIN_PROMPT_SIMILARITY else 0.0


def _compare_units(a: Unit | None, b: Unit | None, scope: DiffScope) -> UnitDifference:
    if a is None or b is None:
        return UnitDifference(status="only_a" if a else "only_b", a=a, b=b)
    fields = tuple(_compare_fields(_list_fields(a), _list_fields(b)))
    entries = tuple(_compare_entries(a, b, scope))
    below = scope.include_subagents
    subagents = (
        align_units(_sort_subagents(a), _sort_subagents(b), scope) if below else ()
    )
    parts = [each.status for each in entries] + [each.status for each in subagents]
    is_same = not fields and all(status == "same" for status in parts)
    return UnitDifference(
        status="same" if is_same else "changed",
        a=a,
        b=b,
        fields=fields,
        entries=entries,
        subagents=subagents,
    )


def _sort_subagents(unit: Unit) -> list[Unit]:
    """The subagents in the order of their calls: they start and end at will."""
    calls = {
        placed.record.tool_call_id: number
        for number, placed in enumerate(unit.entries)
        if placed.record.type == "tool_use"
    }
    last = len(unit.entries)
    return sorted(
        unit.subagents, key=lambda child: calls.get(child.summary.spawn_call_id, last)
    )


def _list_fields(unit: Unit) -> dict[str, str]:
    models = dict.fromkeys(p.record.model for p in unit.entries if p.record.model)
    return {
        "stop_reason": unit.stop_reason,
        "agent_mode": unit.agent_mode,
        "model": ", ".join(models),
    }


def _compare_fields(a: dict[str, str], b: dict[str, str]) -> Iterator[FieldDifference]:
    for name, fact in a.items():
        if fact != b[name]:
            yield FieldDifference(name, fact, b[name])


class _StepContent(NamedTuple):
    """What a step says: all there is to compare, and to name an order by."""

    type: str
    tool: str
    text: str
    result: str
    is_failed: bool


@dataclass(frozen=True, slots=True)
class _DiffStep:
    """An entry; a call with its result."""

    entry: PlacedRecord
    result: PlacedRecord | None
    content: _StepContent


def _make_steps(unit: Unit, scope: DiffScope) -> list[_DiffStep]:
    told = [placed for placed in unit.entries if scope.includes(placed.record)]
    return [_make_step(placed, result) for placed, result in pair_results(told)]


def _make_step(placed: PlacedRecord, result: PlacedRecord | None) -> _DiffStep:
    record = placed.record
    words = _StepContent(
        type=record.type,
        tool=record.tool_name,
        text=record_to_text(record),
        result=record_to_text(result.record) if result else "",
        is_failed=_is_error(result or placed),
    )
    return _DiffStep(placed, result, words)


def _is_error(placed: PlacedRecord) -> bool:
    return bool(placed.record.metadata.get("is_error"))


def _compare_entries(a: Unit, b: Unit, scope: DiffScope) -> Iterator[EntryDifference]:
    ours, theirs = _make_steps(a, scope), _make_steps(b, scope)
    pairs = align_sequences(
        [step.content for step in ours],
        [step.content for step in theirs],
        _compute_step_similarity,
    )
    for at_a, at_b in iter_alignment(pairs, len(ours), len(theirs)):
        yield from _compare_steps(
            None if at_a is None else ours[at_a], None if at_b is None else theirs[at_b]
        )


def _compare_steps(
    a: _DiffStep | None, b: _DiffStep | None
) -> Iterator[EntryDifference]:
    yield _compare_records(a.entry if a else None, b.entry if b else None)
    answer_a, answer_b = a.result if a else None, b.result if b else None
    if answer_a or answer_b:
        yield _compare_records(answer_a, answer_b)


def _compute_step_similarity(one: _StepContent, other: _StepContent) -> float:
    """How well two steps fit; not at all, where they do different things."""
    if one == other:
        return 1.0
    if one[:2] != other[:2]:
        return 0.0
    likeness = compute_similarity(one.text, other.text)
    if one.type != "tool_use":
        return max(likeness, _MESSAGE_SIMILARITY_FLOOR)
    return likeness if likeness >= _MIN_CALL_SIMILARITY else 0.0


def _compare_records(a: PlacedRecord | None, b: PlacedRecord | None) -> EntryDifference:
    if a is None or b is None:
        return EntryDifference(status="only_a" if a else "only_b", a=a, b=b)
    failed = FieldDifference("is_error", _is_error(a), _is_error(b))
    fields = (failed,) if failed.a != failed.b else ()
    is_same = not fields and record_to_text(a.record) == record_to_text(b.record)
    status: DiffStatus = "same" if is_same else "changed"
    return EntryDifference(status=status, a=a, b=b, fields=fields)
