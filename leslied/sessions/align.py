"""Alignment of two sessions, unit by unit, and their differences. Pure.

Forks share entries, so units that begin with the same entry are paired; the others are
paired in order by the similarity of their prompts. Inside a pair of units, entries are
aligned by their content, a call together with its result, because the results of
parallel calls arrive in any order. Differences in times and ids do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from leslied.model.difference import EntryDifference, FieldDifference, UnitDifference
from leslied.sessions.calls import pair_results
from leslied.sessions.entry_text import compute_similarity, record_to_text
from leslied.sessions.sequence_alignment import (
    align_sequences,
    find_anchors,
    find_gaps,
    iter_alignment,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.difference import DiffStatus
    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

_COMPARED_EVENTS = {"interrupt", "compact_boundary"}
_MIN_PROMPT_SIMILARITY = 0.4
"""Units whose prompts are less similar than this are not paired."""
_MIN_CALL_SIMILARITY = 0.3
"""Calls of the same tool that are less similar than this are not paired."""
_MIN_MESSAGE_SIMILARITY = 0.05
"""Similarity of two messages of the same type that have no word in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffScope:
    """What to compare besides messages, calls, results, errors and some events."""

    include_thinking: bool = False
    include_subagents: bool = True

    def includes(self, record: Record) -> bool:
        """Return whether the entry is compared."""
        has_text = bool(record.content.strip())
        match record.type:
            case "tool_use" | "tool_result":
                return True
            case "user_message" | "assistant_message" | "error":
                return has_text
            case "thinking":
                return has_text and self.include_thinking
            case "system_event":
                return record.metadata.get("note") in _COMPARED_EVENTS
            case _:
                return False


_DEFAULT_SCOPE = DiffScope()


def align_units(
    a: Sequence[Unit], b: Sequence[Unit], scope: DiffScope = _DEFAULT_SCOPE
) -> tuple[UnitDifference, ...]:
    """Return the compared units of both sessions in order, in pairs where possible."""
    units_a = [unit for unit in a if _is_compared(unit, scope)]
    units_b = [unit for unit in b if _is_compared(unit, scope)]
    return tuple(
        _compare_units(
            None if at_a is None else units_a[at_a],
            None if at_b is None else units_b[at_b],
            scope,
        )
        for at_a, at_b in iter_alignment(
            _pair_units(units_a, units_b), len(units_a), len(units_b)
        )
    )


def _is_compared(unit: Unit, scope: DiffScope) -> bool:
    """Return whether to compare the unit; unit 0 often has nothing to compare."""
    if unit.number or unit.summary.is_subagent or unit.subagents:
        return True
    return any(scope.includes(placed.record) for placed in unit.entries)


def _pair_units(a: Sequence[Unit], b: Sequence[Unit]) -> list[tuple[int, int]]:
    """Return the positions of the units that belong together, in order."""
    if len(a) == len(b) == 1:
        return [(0, 0)]
    anchors = find_anchors(
        [_get_first_entry_id(unit) for unit in a],
        [_get_first_entry_id(unit) for unit in b],
    )
    prompts_a = [_get_prompt(unit) for unit in a]
    prompts_b = [_get_prompt(unit) for unit in b]
    pairs = list(anchors)
    for gap_a, gap_b in find_gaps(anchors, (len(a), len(b))):
        aligned = align_sequences(
            prompts_a[gap_a], prompts_b[gap_b], _compute_prompt_similarity
        )
        pairs += [(at_a + gap_a.start, at_b + gap_b.start) for at_a, at_b in aligned]
    return sorted(pairs)


def _get_first_entry_id(unit: Unit) -> str:
    """Return the id of the first user message, or without one, of the first entry.

    Forks of a session share this id.
    """
    prompts = (p for p in unit.entries if p.record.type == "user_message")
    return next(prompts, unit.entries[0]).entry_id


def _get_prompt(unit: Unit) -> tuple[bool, str]:
    """Return whether the unit begins with a prompt, and the prompt."""
    return bool(unit.number or unit.summary.is_subagent), unit.prompt.strip()


def _compute_prompt_similarity(a: tuple[bool, str], b: tuple[bool, str]) -> float:
    """Return how similar two prompts are; 0 if their units must not be paired."""
    has_prompt_a, prompt_a = a
    has_prompt_b, prompt_b = b
    if has_prompt_a != has_prompt_b:
        return 0.0
    similarity = compute_similarity(prompt_a, prompt_b)
    return similarity if similarity >= _MIN_PROMPT_SIMILARITY else 0.0


def _compare_units(a: Unit | None, b: Unit | None, scope: DiffScope) -> UnitDifference:
    if a is None or b is None:
        return UnitDifference(status="only_a" if a else "only_b", a=a, b=b)
    fields = tuple(_compare_fields(_get_compared_fields(a), _get_compared_fields(b)))
    entries = tuple(_compare_entries(a, b, scope))
    subagents = (
        align_units(_sort_subagents(a), _sort_subagents(b), scope)
        if scope.include_subagents
        else ()
    )
    statuses = [entry.status for entry in entries]
    statuses += [subagent.status for subagent in subagents]
    is_same = not fields and all(status == "same" for status in statuses)
    return UnitDifference(
        status="same" if is_same else "changed",
        a=a,
        b=b,
        fields=fields,
        entries=entries,
        subagents=subagents,
    )


def _sort_subagents(unit: Unit) -> list[Unit]:
    """Return the subagents in the order of the calls that spawned them."""
    call_positions = {
        placed.record.tool_call_id: position
        for position, placed in enumerate(unit.entries)
        if placed.record.type == "tool_use"
    }
    end = len(unit.entries)
    return sorted(
        unit.subagents,
        key=lambda child: call_positions.get(child.summary.spawn_call_id, end),
    )


def _get_compared_fields(unit: Unit) -> dict[str, str]:
    models = dict.fromkeys(p.record.model for p in unit.entries if p.record.model)
    return {
        "stop_reason": unit.stop_reason,
        "agent_mode": unit.agent_mode,
        "model": ", ".join(models),
    }


def _compare_fields(a: dict[str, str], b: dict[str, str]) -> Iterator[FieldDifference]:
    for name, value in a.items():
        if value != b[name]:
            yield FieldDifference(name, value, b[name])


class _StepContent(NamedTuple):
    """The part of a step that is compared; sortable, as alignment requires."""

    type: str
    tool: str
    text: str
    result: str
    is_failed: bool


@dataclass(frozen=True, slots=True)
class _DiffStep:
    """An entry; for a call, with its result."""

    entry: PlacedRecord
    result: PlacedRecord | None
    content: _StepContent


def _make_steps(unit: Unit, scope: DiffScope) -> list[_DiffStep]:
    entries = [placed for placed in unit.entries if scope.includes(placed.record)]
    return [_make_step(placed, result) for placed, result in pair_results(entries)]


def _make_step(placed: PlacedRecord, result: PlacedRecord | None) -> _DiffStep:
    record = placed.record
    content = _StepContent(
        type=record.type,
        tool=record.tool_name,
        text=record_to_text(record),
        result=record_to_text(result.record) if result else "",
        is_failed=_is_error(result or placed),
    )
    return _DiffStep(placed, result, content)


def _is_error(placed: PlacedRecord) -> bool:
    return bool(placed.record.metadata.get("is_error"))


def _compare_entries(a: Unit, b: Unit, scope: DiffScope) -> Iterator[EntryDifference]:
    steps_a, steps_b = _make_steps(a, scope), _make_steps(b, scope)
    pairs = align_sequences(
        [step.content for step in steps_a],
        [step.content for step in steps_b],
        _compute_step_similarity,
    )
    for at_a, at_b in iter_alignment(pairs, len(steps_a), len(steps_b)):
        yield from _compare_steps(
            None if at_a is None else steps_a[at_a],
            None if at_b is None else steps_b[at_b],
        )


def _compare_steps(
    a: _DiffStep | None, b: _DiffStep | None
) -> Iterator[EntryDifference]:
    yield _compare_records(a.entry if a else None, b.entry if b else None)
    result_a, result_b = a.result if a else None, b.result if b else None
    if result_a or result_b:
        yield _compare_records(result_a, result_b)


def _compute_step_similarity(a: _StepContent, b: _StepContent) -> float:
    """Return how similar two steps are; 0 if they must not be paired."""
    if a == b:
        return 1.0
    if (a.type, a.tool) != (b.type, b.tool):
        return 0.0
    similarity = compute_similarity(a.text, b.text)
    if a.type != "tool_use":
        return max(similarity, _MIN_MESSAGE_SIMILARITY)
    return similarity if similarity >= _MIN_CALL_SIMILARITY else 0.0


def _compare_records(a: PlacedRecord | None, b: PlacedRecord | None) -> EntryDifference:
    if a is None or b is None:
        return EntryDifference(status="only_a" if a else "only_b", a=a, b=b)
    fields: tuple[FieldDifference, ...] = ()
    if _is_error(a) != _is_error(b):
        fields = (FieldDifference("is_error", _is_error(a), _is_error(b)),)
    is_same = not fields and record_to_text(a.record) == record_to_text(b.record)
    status: DiffStatus = "same" if is_same else "changed"
    return EntryDifference(status=status, a=a, b=b, fields=fields)
