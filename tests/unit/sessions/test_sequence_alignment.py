"""Pairing two sequences in order."""

from __future__ import annotations

from leslied.sessions.sequence_alignment import (
    align_sequences,
    find_anchors,
    iter_alignment,
)


def similarity(one: str, other: str) -> float:
    """Words are alike that begin with the same letter."""
    return 0.5 + 0.5 * (one == other) if one[:1] == other[:1] else 0.0


def test_equal_sequences_are_paired_one_by_one():
    assert align_sequences("abc", "abc") == [(0, 0), (1, 1), (2, 2)]


def test_what_was_put_in_stands_alone():
    assert align_sequences("abc", "abxc") == [(0, 0), (1, 1), (2, 3)]


def test_like_things_are_paired_between_equal_ones():
    pairs = align_sequences(["a", "tree", "z"], ["a", "new", "trees", "z"], similarity)

    assert pairs == [(0, 0), (1, 2), (2, 3)]


def test_what_is_never_like_is_never_paired():
    assert align_sequences(["one"], ["two"], similarity) == []


def test_the_better_of_two_like_things_is_taken():
    assert align_sequences(["q", "tea"], ["tree", "tea", "w"], similarity) == [(1, 1)]


def test_what_changed_places_is_paired_once_and_in_order():
    pairs = align_sequences("ab", "ba")

    assert len(pairs) == 1


def test_an_empty_side_has_no_pairs():
    assert align_sequences("", "abc") == []
    assert find_anchors("abc", "") == []


def test_only_what_stands_once_on_both_sides_is_a_pin():
    assert find_anchors("aabc", "abcc") == [(2, 1)]


def test_pins_never_cross():
    assert find_anchors("xabc", "abcx") == [(1, 0), (2, 1), (3, 2)]


def test_long_sequences_without_anything_in_common_end_soon():
    ours, theirs = [f"a{n}" for n in range(20_000)], [f"b{n}" for n in range(20_000)]

    assert align_sequences(ours, theirs) == []


def test_long_sequences_of_few_things_are_paired_in_bounded_work():
    asked = 0

    def count(one: str, other: str) -> float:
        nonlocal asked
        asked += 1
        return float(one == other)

    pairs = align_sequences("ab" * 5_000, "ba" * 4_000 + "a" * 2_000, count)

    assert len(pairs) > 5_000
    assert asked < 200 * 20_000


def test_weaving_puts_what_is_alone_before_the_pair_it_precedes():
    woven = list(iter_alignment([(1, 1)], 3, 2))

    assert woven == [(0, None), (None, 0), (1, 1), (2, None)]
