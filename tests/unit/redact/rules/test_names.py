"""Names are recognised in every spelling."""

from __future__ import annotations

import re

import pytest

from leslied.redact.rules._names import (
    ASCII_VALUE,
    NAME_CHARACTER,
    SPOKEN_END,
    SPOKEN_VALUE,
    STRONG,
    WEAK,
    XML_NAME_CHARACTER,
    make_rule,
    match_any,
)


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


@pytest.mark.parametrize(
    ("characters", "meaning"),
    [
        (ASCII_VALUE, r"[^\s\"'`,<>(){}\[\]$\\\x80-\U0010ffff]"),
        (SPOKEN_VALUE, r"[^\s\"'`<>|(){};\x80-\U0010ffff]"),
        (SPOKEN_END, r"[^\s\"'`<>|,.;:(){\]}\x80-\U0010ffff]"),
        (NAME_CHARACTER, r"[\w.\x80-\U0010ffff-]"),
        (XML_NAME_CHARACTER, r"[\w.:\x80-\U0010ffff-]"),
    ],
)
def test_a_set_has_the_same_characters_as_one_that_is_slow_to_compile(
    characters: str, meaning: str
):
    text = "".join(map(chr, range(0x500))) + "\u4e00\U0001f600\U0010ffff"

    assert re.findall(characters, text, re.ASCII) == re.findall(meaning, text, re.ASCII)
