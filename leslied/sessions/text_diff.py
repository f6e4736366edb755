"""What an entry says, and how two wordings differ. Pure."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from leslied.model.difference import Hunk, TextDifference, TextDiffLine
from leslied.sessions.sequence_alignment import align_sequences, iter_alignment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.difference import DiffSign, EntryDifference
    from leslied.model.record import Record

    Marks = tuple[tuple[int, int], ...]

MAX_LINES = 2_000
"""Texts that differ over more lines than this are not compared line by line."""
MAX_LINE_CHARACTERS = 4_000
"""Lines that are longer than this are not compared word by word."""
MAX_CHANGED_CHARACTERS = 200_000
"""Nor are any where so many characters differ."""
_MIN_LINE_SIMILARITY = 0.5
_COMPARED_CHARACTERS = 2_000
"""Whether two texts are alike is judged by so many characters of each."""
_HAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_WORD = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+")
"""Scripts that put no spaces between their words are judged letter by letter."""
_TOKEN = re.compile(rf"[{_HAN}]|[^\W{_HAN}]+|\s+|.", re.DOTALL)


def record_to_text(record: Record) -> str:
    """The entry's words without what is only spacing; a call's arguments by name."""
    if record.type == "tool_use":
        return _strip_spacing(_input_to_text(record.tool_input))
    if record.type == "system_event":
        return str(record.metadata.get("note") or "")
    return _strip_spacing(record.spilled or record.content)


def compute_similarity(one: str, other: str) -> float:
    """How many words two texts share, from 0 to 1."""
    if one == other:
        return 1.0
    words, others = _find_words(one), _find_words(other)
    # No two texts that differ are as alike as equal ones.
    return 1.98 * len(words & others) / (len(words) + len(others) or 1)


def diff_entry(entry: EntryDifference) -> TextDifference:
    """The words of both sides, or of the one that there is."""
    if entry.a and entry.b:
        return diff_texts(
            record_to_text(entry.a.record), record_to_text(entry.b.record)
        )
    sign: DiffSign = "-" if entry.a else "+"
    lines = record_to_text(entry.either.record).split("\n")
    return TextDifference(lines=tuple(TextDiffLine(sign, line) for line in lines))


def diff_texts(a: str, b: str) -> TextDifference:
    """The lines of both, and in lines that are alike, the words that differ."""
    ours, theirs = a.split("\n"), b.split("\n")
    begin, end = _count_common_ends(ours, theirs)
    shared = [TextDiffLine(" ", line) for line in ours[:begin]]
    after = [TextDiffLine(" ", line) for line in ours[len(ours) - end :]]
    ours, theirs = ours[begin : len(ours) - end], theirs[begin : len(theirs) - end]
    left_out = (0, 0)
    if max(len(ours), len(theirs)) > MAX_LINES:
        left_out = (max(len(ours) - 1, 0), max(len(theirs) - 1, 0))
        ours, theirs, after = ours[:1], theirs[:1], []
    size = sum(map(len, ours)) + sum(map(len, theirs))
    longest = MAX_LINE_CHARACTERS if size <= MAX_CHANGED_CHARACTERS else 0
    found = list(_diff_lines(ours, theirs, longest))
    return TextDifference(
        lines=(*shared, *found, *after),
        is_coarse=any(len(line.text) > longest for line in found if line.marks),
        uncompared=left_out,
    )


def make_hunks(lines: Sequence[TextDiffLine], context: int) -> Iterator[Hunk]:
    """What differs, with so many lines around it."""
    before_a = [0, *accumulate(line.sign != "+" for line in lines)]
    before_b = [0, *accumulate(line.sign != "-" for line in lines)]
    for begin, end in _find_spans(lines, context):
        part = tuple(lines[begin:end])
        yield Hunk(before_a[begin] + 1, before_b[begin] + 1, part)


def _find_spans(lines: Sequence[TextDiffLine], context: int) -> list[tuple[int, int]]:
    """From where to where lines are told; what touches is one."""
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if line.sign != " ":
            begin = max(at - context, 0)
            if spans and begin <= spans[-1][1]:
                begin = spans.pop()[0]
            spans.append((begin, at + context + 1))
    return spans


@lru_cache(maxsize=16_384)
def _find_words(text: str) -> frozenset[str]:
    """The words by which the text is judged."""
    return frozenset(_WORD.findall(text[:_COMPARED_CHARACTERS].casefold()))


def _strip_spacing(text: str) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _input_to_text(text: str) -> str:
    """One argument a line, by name; whoever writes JSON may order it at will."""
    try:
        return _arguments_to_text(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _arguments_to_text(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return _value_to_text(arguments)
    return "\n".join(
        f"{key}: {_value_to_text(arguments[key])}" for key in sorted(arguments)
    )


def _value_to_text(value: Any) -> str:
    if isinstance(value, str):
        return "\n" + value if "\n" in value else value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _count_common_ends(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    """How many lines are the same at the beginning, and at the end."""
    most = min(len(ours), len(theirs))
    begin = next((at for at in range(most) if ours[at] != theirs[at]), most)
    rest = most - begin
    end = next((at for at in range(rest) if ours[-1 - at] != theirs[-1 - at]), rest)
    return begin, end


def _diff_lines(
    ours: Sequence[str], theirs: Sequence[str], max_length: int
) -> Iterator[TextDiffLine]:
    pairs = align_sequences(ours, theirs, _compute_line_similarity)
    for at_a, at_b in iter_alignment(pairs, len(ours), len(theirs)):
        if at_b is None:
            yield TextDiffLine("-", ours[at_a or 0])
        elif at_a is None:
            yield TextDiffLine("+", theirs[at_b])
        elif ours[at_a] == theirs[at_b]:
            yield TextDiffLine(" ", ours[at_a])
        else:
            marks, others = _diff_words(ours[at_a], theirs[at_b], max_length)
            yield TextDiffLine("-", ours[at_a], marks)
            yield TextDiffLine("+", theirs[at_b], others)


def _compute_line_similarity(one: str, other: str) -> float:
    likeness = compute_similarity(one, other)
    return likeness if likeness >= _MIN_LINE_SIMILARITY else 0.0


def _diff_words(a: str, b: str, max_length: int) -> tuple[Marks, Marks]:
    """Which characters of either line are not in the other; roughly in long ones."""
    if max(len(a), len(b)) > max_length:
        begin, end = _count_common_ends(a, b)
        return ((begin, len(a) - end),), ((begin, len(b) - end),)
    ours, theirs = _TOKEN.findall(a), _TOKEN.findall(b)
    pairs = align_sequences(ours, theirs)
    return (
        _find_unpaired_spans(ours, {at for at, _ in pairs}),
        _find_unpaired_spans(theirs, {at for _, at in pairs}),
    )


def _find_unpaired_spans(tokens: Sequence[str], paired: set[int]) -> Marks:
    """Where the pieces without a partner stand, neighbours as one."""
    marks: list[tuple[int, int]] = []
    begin = 0
    for at, piece in enumerate(tokens):
        end = begin + len(piece)
        if at not in paired:
            if marks and marks[-1][1] == begin:
                begin = marks.pop()[0]
            marks.append((begin, end))
        begin = end
    return tuple(marks)
