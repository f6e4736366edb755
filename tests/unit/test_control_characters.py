"""Control, bidirectional and invisible characters."""

from __future__ import annotations

import json
import unicodedata

import pytest
import regex

from leslied.control_characters import (
    escape_control_characters,
    format_one_line,
    replace_control_characters,
)

ESC, RIGHT_TO_LEFT, ZERO_WIDTH, SURROGATE = "\x1b", "\u202e", "\u200b", "\ud800"
VISIBLE_FORMAT_CHARACTERS = {
    chr(code)
    for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD)
} | {"\U000110cd"}
"""Arabic, Syriac and Kaithi signs that Unicode calls format, but that have a glyph."""
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def is_hidden(character: str) -> bool:
    """Return whether Unicode says that the character has no glyph of its own."""
    if character in VISIBLE_FORMAT_CHARACTERS or character in "\t\n":
        return False
    is_ignorable = regex.fullmatch(r"\p{Default_Ignorable_Code_Point}", character)
    return bool(is_ignorable) or unicodedata.category(character) in HIDDEN_CATEGORIES


@pytest.mark.threat("R1", "R6")
def test_every_character_without_a_glyph_becomes_visible():
    hidden = [chr(code) for code in range(0x110000) if is_hidden(chr(code))]

    unchanged = [c for c in hidden if replace_control_characters(f"a{c}b") != f"a{c}b"]

    assert len(hidden) > 140_000
    assert unchanged == hidden


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\0", "␀"),
        (ESC, "␛"),
        ("\r", "␍"),
        ("\x7f", "␡"),
        ("\x9b", "<U+009B>"),
        (RIGHT_TO_LEFT, "<U+202E>"),
        (ZERO_WIDTH, "<U+200B>"),
        (SURROGATE, "<U+D800>"),
        ("\U000e0041", "<U+E0041>"),
    ],
)
def test_a_control_character_is_replaced_by_its_name(character: str, name: str):
    assert replace_control_characters(f"a{character}b") == f"a{name}b"


def test_many_different_control_characters_are_replaced():
    text = "".join(map(chr, range(0xE000, 0xE100)))

    names = replace_control_characters(text)

    assert names == "".join(f"<U+{code:04X}>" for code in range(0xE000, 0xE100))


@pytest.mark.parametrize(
    "text",
    [
        "a\tb\nc",
        "é 漢字 한국어 ไทย",
        "👩\u200d🚀 👨\u200d👩\u200d👧 👩🏽\u200d🚀",
        "❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 ☀\ufe0f ☎\ufe0e",
        "1\ufe0f\u20e3 #\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष ශ්\u200dරී",
        "ᠠ\u180b",
        "🏴" + "".join(chr(0xE0000 + ord(c)) for c in "gbeng") + "\U000e007f",
    ],
)
def test_text_that_people_write_is_kept(text: str):
    assert replace_control_characters(text) == text
    assert escape_control_characters(text) == text


@pytest.mark.threat("R6")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\u200db", id="a joiner between Latin letters"),
        pytest.param("👩\u200d", id="a joiner after the last emoji"),
        pytest.param("می\u200c\u200dخ", id="a second joiner"),
        pytest.param("😀\ufe0f\ufe0e", id="a second variation selector"),
        pytest.param("😀\ufe01", id="a variation selector that is not for emoji"),
        pytest.param("葛\U000e0100", id="a variation selector of an ideograph"),
        pytest.param("a\ufe0f", id="a variation selector of a letter"),
        pytest.param("1\ufe0f", id="a variation selector without a keycap"),
        pytest.param("🏴\U000e0068\U000e0069\U000e007f", id="tags of no flag"),
        pytest.param("\U000e0067\U000e0062", id="tags without a flag"),
    ],
)
def test_a_character_that_could_carry_a_hidden_text_becomes_visible(text: str):
    assert "<U+" in replace_control_characters(text)


def test_json_with_escaped_control_characters_has_the_same_value():
    value = f"a{RIGHT_TO_LEFT}b\x7f\U000e0041{SURROGATE}"
    text = json.dumps(value, ensure_ascii=False)

    escaped = escape_control_characters(text)

    assert escaped == r'"a\u202eb\u007f\udb40\udc41\ud800"'
    assert json.loads(escaped) == value


def test_a_line_has_no_line_ends_and_no_control_characters():
    text = f" a\r\n\tb{ZERO_WIDTH}{ESC}c\u2028d\n"

    assert format_one_line(text) == "a b<U+200B>␛c d"
