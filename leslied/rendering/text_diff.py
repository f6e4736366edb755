"""The differences between two texts: lines, marked words, hunks."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from leslied.model.difference import Hunk, TextDifference, TextDiffLine
from leslied.sessions.entry_text import CJK, compute_similarity, record_to_text
from leslied.sessions.sequence_alignment import align_sequences, iter_alignment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leslied.model.difference import DiffSign, EntryDifference

    Marks = tuple[tuple[int, int], ...]
    """Start and end of each marked span of a line."""

MAX_LINES = 2_000
"""Texts that differ over more lines than this are not compared line by line."""
MAX_LINE_CHARACTERS = 4_000
"""Lines longer than this are not compared word by word."""
MAX_CHANGED_CHARACTERS = 200_000
"""If more characters differ, no lines are compared word by word."""
_MIN_LINE_SIMILARITY = 0.5
"""Lines that are less similar than this are not paired."""
_TOKEN = re.compile(rf"[{CJK}]|[^\W{CJK}]+|\s+|.", re.DOTALL)


def diff_entry(difference: EntryDifference) -> TextDifference:
    """Compare the texts of two paired entries; list all lines of an unpaired one."""
    if difference.a and difference.b:
        return diff_texts(
            record_to_text(difference.a.record), record_to_text(difference.b.record)
        )
    sign: DiffSign = "-" if difference.a else "+"
    lines = record_to_text(difference.either.record).split("\n")
    return TextDifference(lines=tuple(TextDiffLine(sign, line) for line in lines))


def diff_texts(a: str, b: str) -> TextDifference:
    """Compare two texts by lines, and similar lines by words."""
    lines_a, lines_b = a.split("\n"), b.split("\n")
    start_count, end_count = _count_common_ends(lines_a, lines_b)
    before = [TextDiffLine(" ", line) for line in lines_a[:start_count]]
    after = [TextDiffLine(" ", line) for line in lines_a[len(lines_a) - end_count :]]
    lines_a = lines_a[start_count : len(lines_a) - end_count]
    lines_b = lines_b[start_count : len(lines_b) - end_count]
    uncompared = (0, 0)
    if max(len(lines_a), len(lines_b)) > MAX_LINES:
        # Show only the first line that differs, and count the lines after it.
        uncompared = (max(len(lines_a) - 1, 0), max(len(lines_b) - 1, 0))
        lines_a, lines_b, after = lines_a[:1], lines_b[:1], []
    size = sum(map(len, lines_a)) + sum(map(len, lines_b))
    max_length = MAX_LINE_CHARACTERS if size <= MAX_CHANGED_CHARACTERS else 0
    between = list(_diff_lines(lines_a, lines_b, max_length))
    return TextDifference(
        lines=(*before, *between, *after),
        is_coarse=any(len(line.text) > max_length for line in between if line.marks),
        uncompared=uncompared,
    )


def make_hunks(lines: Sequence[TextDiffLine], context: int) -> Iterator[Hunk]:
    """Yield the changed lines, with up to `context` unchanged lines around them."""
    # For each line: how many lines of A and of B precede it.
    before_a = [0, *accumulate(line.sign != "+" for line in lines)]
    before_b = [0, *accumulate(line.sign != "-" for line in lines)]
    for start, end in _find_spans(lines, context):
        hunk_lines = tuple(lines[start:end])
        yield Hunk(before_a[start] + 1, before_b[start] + 1, hunk_lines)


def _find_spans(lines: Sequence[TextDiffLine], context: int) -> list[tuple[int, int]]:
    """Return start and end of each hunk; join hunks that touch."""
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if line.sign != " ":
            start = max(at - context, 0)
            if spans and start <= spans[-1][1]:
                start = spans.pop()[0]
            spans.append((start, at + context + 1))
    return spans


def _count_common_ends(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """Return how many items are equal at the start, and how many at the end."""
    length = min(len(a), len(b))
    start = next((at for at in range(length) if a[at] != b[at]), length)
    remaining = length - start
    end = next((at for at in range(remaining) if a[-1 - at] != b[-1 - at]), remaining)
    return start, end


def _diff_lines(
    a: Sequence[str], b: Sequence[str], max_length: int
) -> Iterator[TextDiffLine]:
    """Yield the lines of both texts; mark the words that differ in paired lines.

    Lines with more than `max_length` characters are not compared word by word.
    """
    pairs = align_sequences(a, b, _compute_line_similarity)
    for at_a, at_b in iter_alignment(pairs, len(a), len(b)):
        if at_b is None:
            # `at_a` is not None here, but the type checker cannot know that.
            yield TextDiffLine("-", a[at_a or 0])
        elif at_a is None:
            yield TextDiffLine("+", b[at_b])
        elif a[at_a] == b[at_b]:
            yield TextDiffLine(" ", a[at_a])
        else:
            marks_a, marks_b = _diff_words(a[at_a], b[at_b], max_length)
            yield TextDiffLine("-", a[at_a], marks_a)
            yield TextDiffLine("+", b[at_b], marks_b)


def _compute_line_similarity(a: str, b: str) -> float:
    similarity = compute_similarity(a, b)
    return similarity if similarity >= _MIN_LINE_SIMILARITY else 0.0


def _diff_words(a: str, b: str, max_length: int) -> tuple[Marks, Marks]:
    """Return the spans of A and of B that differ; in long lines, one span of each."""
    if max(len(a), len(b)) > max_length:
        start_count, end_count = _count_common_ends(a, b)
        return (
            ((start_count, len(a) - end_count),),
            ((start_count, len(b) - end_count),),
        )
    tokens_a, tokens_b = _TOKEN.findall(a), _TOKEN.findall(b)
    pairs = align_sequences(tokens_a, tokens_b)
    return (
        _find_unpaired_spans(tokens_a, {at for at, _ in pairs}),
        _find_unpaired_spans(tokens_b, {at for _, at in pairs}),
    )


def _find_unpaired_spans(tokens: Sequence[str], paired_positions: set[int]) -> Marks:
    """Return the character spans of unpaired tokens; join adjacent ones."""
    marks: list[tuple[int, int]] = []
    start = 0
    for at, token in enumerate(tokens):
        end = start + len(token)
        if at not in paired_positions:
            if marks and marks[-1][1] == start:
                start = marks.pop()[0]
            marks.append((start, end))
        start = end
    return tuple(marks)
