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
from leslied.sessions.pairs import find_gaps, find_pairs, find_pins, weave
from leslied.sessions.steps import pair_results
from leslied.sessions.wording import tell_likeness, word_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.difference import DiffStatus
    from leslied.model.record import PlacedRecord, Record
    from leslied.model.session import Unit

_EVENTS = {"interrupt", "compact_boundary"}
_LIKE_PROMPTS = 0.4
_LIKE_CALLS = 0.3
_UNLIKE = 0.05
"""Two messages of one speaker at one place are rather a pair than strangers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is compared beside prompts, answers, calls, results and errors."""

    has_thinking: bool = False
    has_subagents: bool = True

    def holds(self, record: Record) -> bool:
        """Whether the entry is compared."""
        has_words = bool(record.content.strip())
        match record.type:
            case "tool_use" | "tool_result":
                return True
            case "user_message" | "assistant_message" | "error":
                return has_words
            case "thinking":
                return has_words and self.has_thinking
            case "system_event":
                return record.metadata.get("note") in _EVENTS
            case _:
                return False


_USUAL = Scope()


def align(
    a: Sequence[Unit], b: Sequence[Unit], scope: Scope = _USUAL
) -> tuple[UnitDifference, ...]:
    """The units of both, woven into one list, each with what differs in it."""
    ours = [unit for unit in a if _is_told(unit, scope)]
    theirs = [unit for unit in b if _is_told(unit, scope)]
    return tuple(
        _compare_units(
            None if at_a is None else ours[at_a],
            None if at_b is None else theirs[at_b],
            scope,
        )
        for at_a, at_b in weave(_pair_units(ours, theirs), len(ours), len(theirs))
    )


def _is_told(unit: Unit, scope: Scope) -> bool:
    """What stands before the first prompt is often nothing that anybody said."""
    if unit.number or unit.summary.is_subagent or unit.subagents:
        return True
    return any(scope.holds(placed.record) for placed in unit.entries)


def _pair_units(a: Sequence[Unit], b: Sequence[Unit]) -> list[tuple[int, int]]:
    if len(a) == len(b) == 1:
        return [(0, 0)]
    pins = find_pins([_name(unit) for unit in a], [_name(unit) for unit in b])
    prompts_a, prompts_b = [_ask(unit) for unit in a], [_ask(unit) for unit in b]
    pairs = list(pins)
    for gap_a, gap_b in find_gaps(pins, (len(a), len(b))):
        found = find_pairs(prompts_a[gap_a], prompts_b[gap_b], _tell_prompt_likeness)
        pairs += [(at_a + gap_a.start, at_b + gap_b.start) for at_a, at_b in found]
    return sorted(pairs)


def _name(unit: Unit) -> str:
    """The id of the entry it begins with: the same in forks."""
    prompts = (p for p in unit.entries if p.record.type == "user_message")
    return next(prompts, unit.entries[0]).entry_id


def _ask(unit: Unit) -> tuple[bool, str]:
    """Whether anybody asked, and what."""
    return bool(unit.number or unit.summary.is_subagent), unit.prompt.strip()


def _tell_prompt_likeness(one: tuple[bool, str], other: tuple[bool, str]) -> float:
    likeness = tell_likeness(one[1], other[1]) if one[0] == other[0] else 0.0
    return likeness if likeness >= _LIKE_PROMPTS else 0.0


def _compare_units(a: Unit | None, b: Unit | None, scope: Scope) -> UnitDifference:
    if a is None or b is None:
        return UnitDifference(status="only_a" if a else "only_b", a=a, b=b)
    fields = tuple(_compare_facts(_find_facts(a), _find_facts(b)))
    entries = tuple(_compare_entries(a, b, scope))
    below = scope.has_subagents
    subagents = align(_in_order(a), _in_order(b), scope) if below else ()
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


def _in_order(unit: Unit) -> list[Unit]:
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


def _find_facts(unit: Unit) -> dict[str, str]:
    models = dict.fromkeys(p.record.model for p in unit.entries if p.record.model)
    return {
        "stop_reason": unit.stop_reason,
        "agent_mode": unit.agent_mode,
        "model": ", ".join(models),
    }


def _compare_facts(a: dict[str, str], b: dict[str, str]) -> Iterator[FieldDifference]:
    for name, fact in a.items():
        if fact != b[name]:
            yield FieldDifference(name, fact, b[name])


class _Words(NamedTuple):
    """What a step says: all there is to compare, and to name an order by."""

    type: str
    tool: str
    text: str
    result: str
    is_failed: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """An entry; a call with its result."""

    entry: PlacedRecord
    result: PlacedRecord | None
    words: _Words


def _make_steps(unit: Unit, scope: Scope) -> list[_Step]:
    told = [placed for placed in unit.entries if scope.holds(placed.record)]
    return [_make_step(placed, result) for placed, result in pair_results(told)]


def _make_step(placed: PlacedRecord, result: PlacedRecord | None) -> _Step:
    record = placed.record
    words = _Words(
        type=record.type,
        tool=record.tool_name,
        text=word_record(record),
        result=word_record(result.record) if result else "",
        is_failed=_has_failed(result or placed),
    )
    return _Step(placed, result, words)


def _has_failed(placed: PlacedRecord) -> bool:
    return bool(placed.record.metadata.get("is_error"))


def _compare_entries(a: Unit, b: Unit, scope: Scope) -> Iterator[EntryDifference]:
    ours, theirs = _make_steps(a, scope), _make_steps(b, scope)
    pairs = find_pairs(
        [step.words for step in ours], [step.words for step in theirs], _tell_likeness
    )
    for at_a, at_b in weave(pairs, len(ours), len(theirs)):
        yield from _compare_steps(
            None if at_a is None else ours[at_a], None if at_b is None else theirs[at_b]
        )


def _compare_steps(a: _Step | None, b: _Step | None) -> Iterator[EntryDifference]:
    yield _compare(a.entry if a else None, b.entry if b else None)
    answer_a, answer_b = a.result if a else None, b.result if b else None
    if answer_a or answer_b:
        yield _compare(answer_a, answer_b)


def _tell_likeness(one: _Words, other: _Words) -> float:
    """How well two steps fit; not at all, where they do different things."""
    if one == other:
        return 1.0
    if one[:2] != other[:2]:
        return 0.0
    likeness = tell_likeness(one.text, other.text)
    if one.type != "tool_use":
        return max(likeness, _UNLIKE)
    return likeness if likeness >= _LIKE_CALLS else 0.0


def _compare(a: PlacedRecord | None, b: PlacedRecord | None) -> EntryDifference:
    if a is None or b is None:
        return EntryDifference(status="only_a" if a else "only_b", a=a, b=b)
    failed = FieldDifference("is_error", _has_failed(a), _has_failed(b))
    fields = (failed,) if failed.a != failed.b else ()
    is_same = not fields and word_record(a.record) == word_record(b.record)
    status: DiffStatus = "same" if is_same else "changed"
    return EntryDifference(status=status, a=a, b=b, fields=fields)
