"""Alignment of two sequences in order. Pure, in roughly linear time.

Items that are equal and occur once on both sides anchor the alignment; between anchors
the pairs with the best total similarity are chosen. A gap with too many possible pairs
is halved first: this may miss a pair, but it keeps long logs fast.
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
"""Number of possible pairs up to which a gap is solved exactly."""
_MAX_ROUNDS = 16
"""How many times the gaps between anchors are searched for further anchors."""


def align_sequences(
    a: Sequence[T], b: Sequence[T], similarity: Similarity | None = None
) -> list[Pair]:
    """Return the positions in A and B of the items that belong together, in order.

    Equal items are paired first, then similar ones between them. `similarity` rates two
    items from 0 (never a pair) to 1 and must be symmetric. The result is symmetric too:
    swapping A and B gives the same pairs, each swapped.
    """
    if _must_swap(a, b):
        return _swap(align_sequences(b, a, similarity))
    aligner = _Aligner(a, b, similarity or _compute_equality)
    aligner.align(_SpanPair(0, len(a), 0, len(b)), _MAX_ROUNDS)
    return sorted(aligner.pairs)


def find_anchors(a: Sequence[T], b: Sequence[T]) -> list[Pair]:
    """Return the positions of the longest common sequence of unique items.

    An item is unique if it occurs once on both sides.
    """
    if _must_swap(a, b):
        return _swap(find_anchors(b, a))
    positions = _find_unique(b)
    return _find_longest_increasing(
        [
            (at, positions[item])
            for item, at in _find_unique(a).items()
            if item in positions
        ]
    )


def find_gaps(
    anchors: Sequence[Pair], ends: Pair, starts: Pair = (0, 0)
) -> Iterator[tuple[slice, slice]]:
    """Yield the ranges in A and B before, between and after the anchors.

    The first ranges begin at `starts`, and the last ones end at `ends`.
    """
    before_a, before_b = starts
    for at_a, at_b in [*anchors, ends]:
        yield slice(before_a, at_a), slice(before_b, at_b)
        before_a, before_b = at_a + 1, at_b + 1


def iter_alignment(
    pairs: Sequence[Pair], len_a: int, len_b: int
) -> Iterator[tuple[int | None, int | None]]:
    """Yield the positions of all items of both sequences, paired or with None.

    Unpaired items precede the next pair, those of A before those of B.
    """
    end = (len_a, len_b)
    gaps = find_gaps(pairs, end)
    for (gap_a, gap_b), pair in zip(gaps, [*pairs, end], strict=True):
        yield from ((at, None) for at in range(gap_a.start, gap_a.stop))
        yield from ((None, at) for at in range(gap_b.start, gap_b.stop))
        if pair != end:
            yield pair


@dataclass(frozen=True, slots=True)
class _SpanPair:
    """A range of positions in A and one in B."""

    start_a: int
    end_a: int
    start_b: int
    end_b: int

    @property
    def cells(self) -> int:
        """Number of possible pairs."""
        return (self.end_a - self.start_a) * (self.end_b - self.start_b)

    def split(self) -> tuple[_SpanPair, _SpanPair]:
        """Return the first and the second half."""
        mid_a = (self.start_a + self.end_a) // 2
        mid_b = (self.start_b + self.end_b) // 2
        return (
            _SpanPair(self.start_a, mid_a, self.start_b, mid_b),
            _SpanPair(mid_a, self.end_a, mid_b, self.end_b),
        )


class _Aligner:
    """Alignment of two sequences; collects the pairs in `pairs`."""

    def __init__(self, a: Sequence[T], b: Sequence[T], similarity: Similarity) -> None:
        self.pairs: list[Pair] = []
        self._a: Sequence[Any] = a
        self._b: Sequence[Any] = b
        self._similarity = similarity

    def align(self, span: _SpanPair, rounds: int) -> None:
        """Add the pairs in the span to `pairs`.

        `rounds` is how many more times gaps may be searched for anchors.
        """
        span = self._match_ends(span)
        if not span.cells:
            return
        anchors = self._find_anchors(span) if rounds else []
        if anchors:
            self.pairs += anchors
            ends, starts = (span.end_a, span.end_b), (span.start_a, span.start_b)
            for gap_a, gap_b in find_gaps(anchors, ends, starts):
                gap = _SpanPair(gap_a.start, gap_a.stop, gap_b.start, gap_b.stop)
                self.align(gap, rounds - 1)
        elif span.cells <= _MAX_CELLS:
            self._match_best(span)
        else:
            for half in span.split():
                self.align(half, rounds)

    def _match_ends(self, span: _SpanPair) -> _SpanPair:
        """Pair equal items at both ends; return the remaining span."""
        a, end_a, b, end_b = span.start_a, span.end_a, span.start_b, span.end_b
        while a < end_a and b < end_b and self._a[a] == self._b[b]:
            self.pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < end_a and b < end_b and self._a[end_a - 1] == self._b[end_b - 1]:
            end_a, end_b = end_a - 1, end_b - 1
            self.pairs.append((end_a, end_b))
        return _SpanPair(a, end_a, b, end_b)

    def _find_anchors(self, span: _SpanPair) -> list[Pair]:
        anchors = find_anchors(
            self._a[span.start_a : span.end_a], self._b[span.start_b : span.end_b]
        )
        return [(a + span.start_a, b + span.start_b) for a, b in anchors]

    def _match_best(self, span: _SpanPair) -> None:
        """Add the pairs with the best total similarity."""
        rows = range(span.start_a, span.end_a)
        columns = range(span.start_b, span.end_b)
        scores = [
            [self._similarity(self._a[a], self._b[b]) for b in columns] for a in rows
        ]
        best = _compute_best_sums(scores, len(columns))
        a = b = 0
        while a < len(rows) and b < len(columns):
            score = scores[a][b]
            if score and best[a][b] == score + best[a + 1][b + 1]:
                self.pairs.append((rows[a], columns[b]))
                a, b = a + 1, b + 1
            elif best[a][b] == best[a + 1][b]:
                a += 1
            else:
                b += 1


def _compute_best_sums(scores: list[list[float]], width: int) -> list[list[float]]:
    """Return the best total similarity from every pair of positions to the end."""
    best = [[0.0] * (width + 1) for _ in range(len(scores) + 1)]
    for a in reversed(range(len(scores))):
        row, next_row, row_scores = best[a], best[a + 1], scores[a]
        for b in reversed(range(width)):
            unpaired = max(next_row[b], row[b + 1])
            score = row_scores[b]
            row[b] = max(unpaired, score + next_row[b + 1]) if score else unpaired
    return best


def _find_longest_increasing(pairs: list[Pair]) -> list[Pair]:
    """Return the longest subsequence of pairs whose second positions increase.

    The first positions already increase.
    """
    # For each length: the smallest second position with which a subsequence of that
    # length can end, and the index of the pair that has this position.
    smallest_ends: list[int] = []
    end_indexes: list[int] = []
    # For each pair: the index of its predecessor in the longest subsequence that ends
    # with the pair, or -1.
    predecessors: list[int] = []
    for index, (_, b) in enumerate(pairs):
        length_before = bisect_left(smallest_ends, b)
        smallest_ends[length_before : length_before + 1] = [b]
        end_indexes[length_before : length_before + 1] = [index]
        predecessors.append(end_indexes[length_before - 1] if length_before else -1)
    index = end_indexes[-1] if end_indexes else -1
    longest = []
    while index >= 0:
        longest.append(pairs[index])
        index = predecessors[index]
    return longest[::-1]


def _find_unique(sequence: Sequence[T]) -> dict[T, int]:
    """Return the items that occur once, with their positions."""
    counts = Counter(sequence)
    return {item: at for at, item in enumerate(sequence) if counts[item] == 1}


def _must_swap(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return whether to swap A and B, so that the one that sorts first comes first.

    The result then does not depend on which of the two the caller passed first.
    """
    return tuple(a) > tuple(b)


def _swap(pairs: list[Pair]) -> list[Pair]:
    return [(b, a) for a, b in pairs]


def _compute_equality(a: object, b: object) -> float:
    return float(a == b)
