"""Names are recognised in every spelling."""

from __future__ import annotations

import re

import pytest

from leslied.redact.rules._names import STRONG, WEAK, make_rule, match_any


@pytest.mark.parametrize("name", ["client_secret", "client-secret", "clientsecret"])
def test_a_name_has_a_spelling_for_each_separator(name: str):
    assert name in STRONG


def test_no_name_is_both_strong_and_weak():
    assert not set(STRONG) & set(WEAK)


def test_make_rule_returns_a_contextual_rule():
    assert make_rule("kind", ("name",), "name=(?P<secret>.)").tier == "contextual"


def test_a_pattern_of_words_matches_the_longest_in_any_case():
    pattern = re.compile(match_any(["key", "key_id", "key-base", "token"]))

    assert [m[0] for m in pattern.finditer("Key KEY_ID key_x KEY-BASE tokens kex")] == [
        *("Key", "KEY_ID", "key", "KEY-BASE", "token")
    ]


def test_a_pattern_of_words_matches_every_word():
    words = {*STRONG, *WEAK}

    assert {word for word in words if re.fullmatch(match_any(words), word)} == words
