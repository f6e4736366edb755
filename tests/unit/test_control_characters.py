"""Control, bidirectional and invisible characters."""

from __future__ import annotations

import json

import pytest

from leslied.control_characters import (
    clean_title,
    escape_control_characters,
    replace_control_characters,
)

ESC, RIGHT_TO_LEFT, ZERO_WIDTH, SURROGATE = "\x1b", "\u202e", "\u200b", "\ud800"


@pytest.mark.parametrize(
    "character", ["\0", ESC, "\x7f", "\x9b", RIGHT_TO_LEFT, ZERO_WIDTH, SURROGATE]
)
def test_a_control_character_is_replaced(character: str):
    assert replace_control_characters(f"a{character}b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["a\tb\nc", "é 漢字", "👩\u200d🚀", "می\u200cخواهم"])
def test_text_that_people_write_is_kept(text: str):
    assert replace_control_characters(text) == text


def test_a_control_character_can_be_replaced_by_another_text():
    assert replace_control_characters("a\x1bb", " ") == "a b"


def test_json_with_escaped_control_characters_has_the_same_value():
    text = json.dumps(f"a{RIGHT_TO_LEFT}b\x7f", ensure_ascii=False)

    escaped = escape_control_characters(text)

    assert escaped == '"a\\u202eb\\u007f"'
    assert json.loads(escaped) == json.loads(text)


def test_a_title_is_one_line_without_control_characters():
    assert clean_title(f" a\r\n\tb{ZERO_WIDTH}{ESC}c\n") == "a b c"


def test_a_title_keeps_the_joiners_of_emoji_and_words():
    assert clean_title("👩\u200d🚀 می\u200cخواهم") == "👩\u200d🚀 می\u200cخواهم"
