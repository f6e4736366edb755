"""Alignment of two sequences in order."""

from __future__ import annotations

from leslied.sessions.sequence_alignment import (
    align_sequences,
    find_anchors,
    iter_alignment,
)


def compare_words(a: str, b: str) -> float:
    """Return 1 for equal words, 0.5 for words with the same first letter, else 0."""
    return 0.5 + 0.5 * (a == b) if a[:1] == b[:1] else 0.0


def test_equal_sequences_are_paired_one_by_one():
    assert align_sequences("abc", "abc") == [(0, 0), (1, 1), (2, 2)]


def test_an_inserted_item_is_not_paired():
    assert align_sequences("abc", "abxc") == [(0, 0), (1, 1), (2, 3)]


def test_similar_items_are_paired_between_equal_ones():
    pairs = align_sequences(
        ["a", "tree", "z"], ["a", "new", "trees", "z"], compare_words
    )

    assert pairs == [(0, 0), (1, 2), (2, 3)]


def test_items_without_similarity_are_not_paired():
    assert align_sequences(["one"], ["two"], compare_words) == []


def test_the_more_similar_of_two_items_is_paired():
    assert align_sequences(["q", "tea"], ["tree", "tea", "w"], compare_words) == [
        (1, 1)
    ]


def test_of_two_swapped_items_only_one_is_paired():
    pairs = align_sequences("ab", "ba")

    assert len(pairs) == 1


def test_an_empty_sequence_has_no_pairs():
    assert align_sequences("", "abc") == []
    assert find_anchors("abc", "") == []


def test_only_items_that_occur_once_on_both_sides_are_anchors():
    assert find_anchors("aabc", "abcc") == [(2, 1)]


def test_anchors_never_cross():
    assert find_anchors("xabc", "abcx") == [(1, 0), (2, 1), (3, 2)]


def test_long_sequences_without_common_items_are_aligned_quickly():
    a, b = [f"a{n}" for n in range(20_000)], [f"b{n}" for n in range(20_000)]

    assert align_sequences(a, b) == []


def test_long_sequences_of_repeated_items_need_few_comparisons():
    comparisons = 0

    def compare_and_count(a: str, b: str) -> float:
        nonlocal comparisons
        comparisons += 1
        return float(a == b)

    pairs = align_sequences("ab" * 5_000, "ba" * 4_000 + "a" * 2_000, compare_and_count)

    assert len(pairs) > 5_000
    assert comparisons < 200 * 20_000


def test_unpaired_items_precede_the_next_pair():
    aligned = list(iter_alignment([(1, 1)], 3, 2))

    assert aligned == [(0, None), (None, 0), (1, 1), (2, None)]
