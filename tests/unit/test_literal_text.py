"""A literal text is found however JSON escapes it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.literal_text import LiteralText

TEXTS = (
    "plain text",
    'a "quoted" word',
    "back\\slash",
    "path/to",
    "two\nlines",
    "é€😀",
)


def encode(text: str, levels: int, *, is_ascii: bool) -> bytes:
    """Quote the text as JSON, as often as asked."""
    for _ in range(levels):
        text = json.dumps(text, ensure_ascii=is_ascii)
    return text.encode()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("levels", [0, 1, 2, 3])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_text_is_found_at_any_depth(text: str, levels: int, *, is_ascii: bool):
    data = encode(f"before {text} after", levels, is_ascii=is_ascii)

    assert LiteralText(text).is_in(data)


@given(st.text(min_size=4, max_size=12), st.integers(0, 3), st.booleans())
def test_any_text_is_found(text: str, levels: int, is_ascii: bool):  # noqa: FBT001
    assert LiteralText(text).is_in(encode(f"x{text}x", levels, is_ascii=is_ascii))


@pytest.mark.parametrize(
    "data",
    [
        rb"pl\u0061in text",
        rb"pl\u0061in\u0020text",
        rb"\u0070lain text",
        rb"\\u0070lain text",
    ],
)
def test_any_character_may_be_escaped(data: bytes):
    assert LiteralText("plain text").is_in(data)


@pytest.mark.parametrize("text", [r"\/escaped", "<tag>"])
def test_characters_that_some_programs_escape_are_found(text: str):
    assert LiteralText("/escaped").is_in(b'"\\/escaped"')
    assert LiteralText("<tag>").is_in(rb'"\u003cTAG\u003e \u003ctag\u003E"')
    assert LiteralText(text).is_in(text.encode())


@pytest.mark.parametrize(
    "data", [b"Plain text", b"plain  text", b"plain tex", b"\\u0050lain text", b""]
)
def test_other_texts_are_not_found(data: bytes):
    assert not LiteralText("plain text").is_in(data)


@pytest.mark.parametrize("text", ["\\" * 30, '"\\"\\"x', "\n\n\nxx", "/\\/a/"])
def test_data_full_of_backslashes_is_searched_in_time(text: str):
    data = b"\\" * 200_000 + b"y"

    assert LiteralText(text).is_in(data) == (text == "\\" * 30)


def test_values_of_any_type_are_searched():
    text = LiteralText("plain")

    assert text.is_in_values(None, 3, "a plain b")
    assert text.is_in_values(b"a plain b")
    assert not text.is_in_values(None, 3, "", "plan")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_an_erased_text_is_gone(text: str, levels: int):
    data = encode(f"before {text} after", levels, is_ascii=True)

    erased = LiteralText(text).erase(data)

    assert not LiteralText(text).is_in(erased)
    assert len(erased) == len(data)
    assert (b"before " in erased, b" after" in erased) == (True, True)
