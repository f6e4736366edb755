"""Test the lenient parsing of JSON."""

from __future__ import annotations

import json

import msgspec
import pytest

from leslied.agents._parsing import parse_object
from leslied.errors import DecodeError

LARGE = 5_000_000
"""Characters of a text that make a line too large for lenient parsing."""


def test_a_valid_large_line_is_parsed():
    fields = {"text": 'a, "b" [c] {d}\n' * (LARGE // 15), "list": [1, {"a": None}]}

    assert parse_object(json.dumps(fields).encode()) == fields


def test_a_large_line_with_a_huge_integer_can_be_encoded_again():
    data = b'{"text":"%b","number":%b}' % (b"x" * LARGE, b"9" * 30)

    fields = parse_object(data)

    assert fields["number"] == "9" * 30
    assert msgspec.json.encode(fields)


def test_a_damaged_large_line_is_rejected():
    with pytest.raises(DecodeError, match="damaged and too large to repair"):
        parse_object(b'{"text":"%b"' % (b"x" * LARGE))


def test_a_large_line_of_nothing_but_small_values_is_rejected():
    data = b'{"lists":[%b[]]}' % (b"[]," * (LARGE // 3))

    with pytest.raises(DecodeError, match="too large for so many values"):
        parse_object(data)
