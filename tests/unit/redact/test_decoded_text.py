"""Decoded texts know where their parts are in the original."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.redact.decoded_text import decode, flatten, hides_letters


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("a\\u0062c", "abc"),
        ("a%62c", "abc"),
        ("a&quot;c", 'a"c'),
        ("a\x1b[01;31mbc\x1b[m", "abc"),
        ("a\u200bb", "ab"),
        (json.dumps(json.dumps("a\nb")), '""a\nb""'),
        ("%2562", "b"),
        ("a\\x62c", "abc"),
        ("a\\u2192c", "a→c"),
        ("a\\x1b[mb\\033[0mc\\e(Bd^[[1me\x1bf", "abcdef"),
        ("a\x1b]8;;url\x07b", "ab"),
        ("a&#98;&#x63;", "abc"),
    ],
)
def test_a_text_is_decoded(text: str, decoded: str):
    assert hides_letters(text)
    assert decode(text).text == decoded


def test_a_range_is_mapped_back_with_whole_escapes():
    text = "x \\u0061bc%64 y"
    decoded = decode(text)
    start = decoded.text.index("abcd")

    first, last = decoded.find_original(start, start + 4)

    assert text[first:last] == "\\u0061bc%64"


@given(st.text(alphabet="ab\\nu0041%&;amp\x1b[m ", max_size=40))
def test_ranges_are_within_the_original_and_in_order(text: str):
    decoded = decode(text)
    ranges = [decoded.find_original(at, at + 1) for at in range(len(decoded.text))]

    assert all(0 <= start < end <= len(text) for start, end in ranges)
    assert ranges == sorted(ranges)


@given(st.text(alphabet="ab\\nrt\"' ", max_size=40))
def test_a_flat_text_has_the_same_length(text: str):
    assert len(flatten(text)) == len(text)


def test_simple_escapes_hide_no_letters():
    assert not hides_letters("a\\nb")
    assert hides_letters("a\\u0062")
