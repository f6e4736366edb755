"""Text is cut between grapheme clusters."""

from __future__ import annotations

import random

import pytest

from leslied.graphemes import (
    _compile_grapheme_pattern,
    ellipsize,
    has_only_single_characters,
    iter_graphemes,
    take_characters,
)

CLUSTERS = [
    "👩\u200d👩\u200d👧",
    "🏳️\u200d🌈",
    "🇩🇪",
    "👍🏽",
    "1️⃣",
    "❤️",
    "\u1112\u1161\u11ab",
    "e\u0301",
    "नि",
    "स्ते",
    "क्\u200dष",
    "x",
]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_cluster_is_one_character(cluster: str):
    assert list(iter_graphemes(cluster)) == [cluster]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("before", ["", "a", "日", "🇫🇷", "y" * 100])
def test_cutting_keeps_clusters_whole(cluster: str, before: str):
    text = before + 3 * cluster + "end"
    whole_heads = {before + count * cluster for count in range(4)}

    for limit in range(len(before), len(before + 3 * cluster) + 1):
        head = take_characters(text, limit)
        assert head in whole_heads
        assert len(head) <= limit < len(head) + len(cluster) or cluster == "x"


@pytest.mark.parametrize("limit", [-1, 0])
def test_nothing_fits_in_no_characters(limit: int):
    assert take_characters("text", limit) == ""


@pytest.mark.parametrize(
    ("text", "limit", "shortened"),
    [
        ("text", 4, "text"),
        ("texts", 4, "tex…"),
        ("ab👍🏽c", 4, "ab…"),
        ("", 4, ""),
    ],
)
def test_an_ellipsis_counts_as_one_character(text: str, limit: int, shortened: str):
    assert ellipsize(text, limit) == shortened


def test_single_characters_never_join():
    characters = [chr(code) for code in range(0x10000)]
    singles = [each for each in characters if has_only_single_characters(each)]
    shuffled = random.Random(1).sample(singles, len(singles))
    text = "".join(singles + singles[::-1] + shuffled)

    clusters = [match[0] for match in _compile_grapheme_pattern().finditer(text)]

    assert clusters == list(text)


@pytest.mark.parametrize(
    "text", ["e\u0301", "a\r\n…", "👩‍👧", "…\ufe0f", "한", "ก\u0e33", "क्षि"]
)
def test_characters_that_may_join_are_not_single(text: str):
    assert not has_only_single_characters(text)


@pytest.mark.parametrize("text", ["naïve — “yes” → …", "日本語 ✓", "▇▇▇", "Привет"])
def test_characters_of_common_texts_are_single(text: str):
    assert has_only_single_characters(text)
    assert list(iter_graphemes(text)) == list(text)
