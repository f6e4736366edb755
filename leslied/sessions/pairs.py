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
    Likeness = Callable[[Any, Any], float]

T = TypeVar("T")
_MOST_CELLS = 10_000
"""So many possible pairs are weighed against each other at once."""
_ROUNDS = 16
"""So often a stretch between two pins is pinned again."""


def find_pairs(
    a: Sequence[T], b: Sequence[T], likeness: Likeness | None = None
) -> list[Pair]:
    """Which of A stands against which of B, in order: equal ones, then like ones.

    Likeness tells how well two fit, from 0 (never a pair) to 1; it has no sides, and
    neither has the answer: with A and B exchanged, the pairs are the same.
    """
    if _is_second(a, b):
        return _exchange(find_pairs(b, a, likeness))
    pairing = _Pairing(a, b, likeness or _equal)
    pairing.pair(_Stretch(0, len(a), 0, len(b)), _ROUNDS)
    return sorted(pairing.pairs)


def find_pins(a: Sequence[T], b: Sequence[T]) -> list[Pair]:
    """The most of what stands once on either side, in an order that both share."""
    if _is_second(a, b):
        return _exchange(find_pins(b, a))
    where = _find_once(b)
    return _rise(
        [(at, where[each]) for each, at in _find_once(a).items() if each in where]
    )


def find_gaps(
    pins: Sequence[Pair], ends: Pair, starts: Pair = (0, 0)
) -> Iterator[tuple[slice, slice]]:
    """The stretches before, between and after the pins."""
    before_a, before_b = starts
    for at_a, at_b in [*pins, ends]:
        yield slice(before_a, at_a), slice(before_b, at_b)
        before_a, before_b = at_a + 1, at_b + 1


def weave(
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
class _Stretch:
    """From here to there on both sides."""

    a: int
    end_a: int
    b: int
    end_b: int

    @property
    def cells(self) -> int:
        return (self.end_a - self.a) * (self.end_b - self.b)

    def halves(self) -> tuple[_Stretch, _Stretch]:
        mid_a, mid_b = (self.a + self.end_a) // 2, (self.b + self.end_b) // 2
        return (
            _Stretch(self.a, mid_a, self.b, mid_b),
            _Stretch(mid_a, self.end_a, mid_b, self.end_b),
        )


class _Pairing:
    """Two sequences, and the pairs found so far."""

    def __init__(self, a: Sequence[T], b: Sequence[T], likeness: Likeness) -> None:
        self.pairs: list[Pair] = []
        self._a: Sequence[Any] = a
        self._b: Sequence[Any] = b
        self._likeness = likeness

    def pair(self, stretch: _Stretch, rounds: int) -> None:
        stretch = self._strip(stretch)
        if not stretch.cells:
            return
        pins = self._pin(stretch) if rounds else []
        if pins:
            self.pairs += pins
            ends, starts = (stretch.end_a, stretch.end_b), (stretch.a, stretch.b)
            for a, b in find_gaps(pins, ends, starts):
                self.pair(_Stretch(a.start, a.stop, b.start, b.stop), rounds - 1)
        elif stretch.cells <= _MOST_CELLS:
            self._weigh(stretch)
        else:
            for half in stretch.halves():
                self.pair(half, rounds)

    def _strip(self, stretch: _Stretch) -> _Stretch:
        """What is left when the equal ends are paired."""
        a, end_a, b, end_b = stretch.a, stretch.end_a, stretch.b, stretch.end_b
        while a < end_a and b < end_b and self._a[a] == self._b[b]:
            self.pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < end_a and b < end_b and self._a[end_a - 1] == self._b[end_b - 1]:
            end_a, end_b = end_a - 1, end_b - 1
            self.pairs.append((end_a, end_b))
        return _Stretch(a, end_a, b, end_b)

    def _pin(self, stretch: _Stretch) -> list[Pair]:
        pins = find_pins(
            self._a[stretch.a : stretch.end_a], self._b[stretch.b : stretch.end_b]
        )
        return [(a + stretch.a, b + stretch.b) for a, b in pins]

    def _weigh(self, stretch: _Stretch) -> None:
        """The pairs that fit best in sum."""
        rows = range(stretch.a, stretch.end_a)
        columns = range(stretch.b, stretch.end_b)
        fits = [[self._likeness(self._a[a], self._b[b]) for b in columns] for a in rows]
        best = _sum_up(fits, len(columns))
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


def _sum_up(fits: list[list[float]], width: int) -> list[list[float]]:
    """For every place, the best sum that can be had from there on."""
    best = [[0.0] * (width + 1) for _ in range(len(fits) + 1)]
    for a in reversed(range(len(fits))):
        here, below, fit = best[a], best[a + 1], fits[a]
        for b in reversed(range(width)):
            most = max(below[b], here[b + 1])
            here[b] = max(most, fit[b] + below[b + 1]) if fit[b] else most
    return best


def _rise(pairs: list[Pair]) -> list[Pair]:
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


def _find_once(sequence: Sequence[T]) -> dict[T, int]:
    """Where everything stands that is there once."""
    counts = Counter(sequence)
    return {each: at for at, each in enumerate(sequence) if counts[each] == 1}


def _is_second(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Who asks names the sides; the work is done on them in an order of their own."""
    return tuple(a) > tuple(b)


def _exchange(pairs: list[Pair]) -> list[Pair]:
    return [(b, a) for a, b in pairs]


def _equal(one: object, other: object) -> float:
    return float(one == other)
