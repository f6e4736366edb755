"""Pairing two sequences in order. Pure, and the work stays within their lengths.

What is equal and stands once on either side pins the sequences together; between the
pins the best pairs are weighed. Where that would be too much to weigh, the stretch is
halved: a pair may then be missed, but a long log is no slow one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Pair = tuple[int, int]
    Similarity = Callable[[Any, Any], float]

T = TypeVar("T")
_MAX_CELLS = 10_000
"""So many possible pairs are weighed against each other at once."""
_MAX_ROUNDS = 16
"""So often a stretch between two pins is pinned again."""


def align_sequences(
    a: Sequence[T], b: Sequence[T], similarity: Similarity | None = None
) -> list[Pair]:
    """Which of A stands against which of B, in order: equal ones, then like ones.

    Likeness tells how well two fit, from 0 (never a pair) to 1; it has no sides, and
    neither has the answer: with A and B exchanged, the pairs are the same.
    """
    if _is_swapped(a, b):
        return _swap(align_sequences(b, a, similarity))
    pairing = _Aligner(a, b, similarity or _equal)
    pairing.align(_AlignedSpan(0, len(a), 0, len(b)), _MAX_ROUNDS)
    return sorted(pairing.pairs)


def find_anchors(a: Sequence[T], b: Sequence[T]) -> list[Pair]:
    """The most of what stands once on either side, in an order that both share."""
    if _is_swapped(a, b):
        return _swap(find_anchors(b, a))
    where = _find_unique(b)
    return _find_longest_increasing(
        [(at, where[each]) for each, at in _find_unique(a).items() if each in where]
    )


def find_gaps(
    anchors: Sequence[Pair], ends: Pair, starts: Pair = (0, 0)
) -> Iterator[tuple[slice, slice]]:
    """The stretches before, between and after the pins."""
    before_a, before_b = starts
    for at_a, at_b in [*anchors, ends]:
        yield slice(before_a, at_a), slice(before_b, at_b)
        before_a, before_b = at_a + 1, at_b + 1


def iter_alignment(
    pairs: Sequence[Pair], len_a: int, len_b: int
) -> Iterator[tuple[int | None, int | None]]:
    """Both sequences as one: every pair, and before it what stands alone, A's first."""
    end = (len_a, len_b)
    gaps = find_gaps(pairs, end)
    for (alone_a, alone_b), pair in zip(gaps, [*pairs, end], strict=True):
        yield from ((at, None) for at in range(alone_a.start, alone_a.stop))
        yield from ((None, at) for at in range(alone_b.start, alone_b.stop))
        if pair != end:
            yield pair


@dataclass(frozen=True, slots=True)
class _AlignedSpan:
    """From here to there on both sides."""

    a: int
    end_a: int
    b: int
    end_b: int

    @property
    def cells(self) -> int:
        return (self.end_a - self.a) * (self.end_b - self.b)

    def split(self) -> tuple[_AlignedSpan, _AlignedSpan]:
        mid_a, mid_b = (self.a + self.end_a) // 2, (self.b + self.end_b) // 2
        return (
            _AlignedSpan(self.a, mid_a, self.b, mid_b),
            _AlignedSpan(mid_a, self.end_a, mid_b, self.end_b),
        )


class _Aligner:
    """Two sequences, and the pairs found so far."""

    def __init__(self, a: Sequence[T], b: Sequence[T], similarity: Similarity) -> None:
        self.pairs: list[Pair] = []
        self._a: Sequence[Any] = a
        self._b: Sequence[Any] = b
        self._similarity = similarity

    def align(self, span: _AlignedSpan, rounds: int) -> None:
        span = self._match_ends(span)
        if not span.cells:
            return
        pins = self._find_anchors(span) if rounds else []
        if pins:
            self.pairs += pins
            ends, starts = (span.end_a, span.end_b), (span.a, span.b)
            for a, b in find_gaps(pins, ends, starts):
                self.align(_AlignedSpan(a.start, a.stop, b.start, b.stop), rounds - 1)
        elif span.cells <= _MAX_CELLS:
            self._match_best(span)
        else:
            for half in span.split():
                self.align(half, rounds)

    def _match_ends(self, span: _AlignedSpan) -> _AlignedSpan:
        """What is left when the equal ends are paired."""
        a, end_a, b, end_b = span.a, span.end_a, span.b, span.end_b
        while a < end_a and b < end_b and self._a[a] == self._b[b]:
            self.pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < end_a and b < end_b and self._a[end_a - 1] == self._b[end_b - 1]:
            end_a, end_b = end_a - 1, end_b - 1
            self.pairs.append((end_a, end_b))
        return _AlignedSpan(a, end_a, b, end_b)

    def _find_anchors(self, span: _AlignedSpan) -> list[Pair]:
        pins = find_anchors(self._a[span.a : span.end_a], self._b[span.b : span.end_b])
        return [(a + span.a, b + span.b) for a, b in pins]

    def _match_best(self, span: _AlignedSpan) -> None:
        """The pairs that fit best in sum."""
        rows = range(span.a, span.end_a)
        columns = range(span.b, span.end_b)
        fits = [
            [self._similarity(self._a[a], self._b[b]) for b in columns] for a in rows
        ]
        best = _compute_best_sums(fits, len(columns))
        a = b = 0
        while a < len(rows) and b < len(columns):
            fit = fits[a][b]
            if fit and best[a][b] == fit + best[a + 1][b + 1]:
                self.pairs.append((rows[a], columns[b]))
                a, b = a + 1, b + 1
            elif best[a][b] == best[a + 1][b]:
                a += 1
            else:
                b += 1


def _compute_best_sums(scores: list[list[float]], width: int) -> list[list[float]]:
    """For every place, the best sum that can be had from there on."""
    best = [[0.0] * (width + 1) for _ in range(len(scores) + 1)]
    for a in reversed(range(len(scores))):
        here, below, fit = best[a], best[a + 1], scores[a]
        for b in reversed(range(width)):
            most = max(below[b], here[b + 1])
            here[b] = max(most, fit[b] + below[b + 1]) if fit[b] else most
    return best


def _find_longest_increasing(pairs: list[Pair]) -> list[Pair]:
    """The longest part of the pairs that rises on the second side, too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, b) in enumerate(pairs):
        length = bisect_left(ends, b)
        ends[length : length + 1] = [b]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    at = last[-1] if last else -1
    found = []
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _find_unique(sequence: Sequence[T]) -> dict[T, int]:
    """Where everything stands that is there once."""
    counts = Counter(sequence)
    return {each: at for at, each in enumerate(sequence) if counts[each] == 1}


def _is_swapped(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Who asks names the sides; the work is done on them in an order of their own."""
    return tuple(a) > tuple(b)


def _swap(pairs: list[Pair]) -> list[Pair]:
    return [(b, a) for a, b in pairs]


def _equal(one: object, other: object) -> float:
    return float(one == other)
