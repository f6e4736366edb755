"""The text of a record that is indexed."""

from __future__ import annotations

import re

import pytest

from leslied.store.fts_text import (
    MAX_INDEXED_CHARACTERS,
    MAX_RESULT_CHARACTERS,
    extract_index_text,
    extract_strings,
    space_cjk,
)
from tests.support.records import make_record


@pytest.mark.parametrize("kind", ["system_event", "error", "unknown", "token_usage"])
def test_events_errors_and_usage_are_not_indexed(kind: str):
    assert extract_index_text(make_record("words", type=kind)) == ""


@pytest.mark.parametrize("kind", ["user_message", "assistant_message", "thinking"])
def test_messages_are_indexed_completely(kind: str):
    text = "word " * 5000

    assert extract_index_text(make_record(text, type=kind)) == text


def test_a_result_is_indexed_up_to_a_limit():
    record = make_record("x" * 20_000, type="tool_result")

    assert len(extract_index_text(record)) == MAX_RESULT_CHARACTERS


def test_a_spilled_result_is_indexed_by_its_whole_text():
    record = make_record("part", type="tool_result", spilled="whole")

    assert extract_index_text(record) == "whole"


def test_a_call_is_indexed_by_name_and_arguments():
    tool_input = '{"a": "x", "b": {"c": ["y", 1, true, null]}}'
    record = make_record(type="tool_use", tool_name="Bash", tool_input=tool_input)

    assert extract_index_text(record).split() == ["Bash", "x", "y"]


@pytest.mark.parametrize("text", ["", "plain", "é à ü", "ελληνικά", "русский", "— “ ”"])
def test_text_without_cjk_is_not_changed(text: str):
    assert space_cjk(text) == text


@pytest.mark.parametrize(
    "text", ["日本", "한국", "カタ", "ひら", "ｶﾀ", "𠮷𠮷", "豈更", "ㄅㄆ", "㐀㐁"]
)
def test_every_cjk_character_becomes_a_word(text: str):
    assert space_cjk(text).split() == list(text)


def test_words_next_to_cjk_remain_words():
    assert space_cjk("mixed日本text").split() == ["mixed", "日", "本", "text"]


@pytest.mark.fault("A5")
def test_a_lone_surrogate_is_not_an_error():
    assert "日" in space_cjk("日\ud800").split()


@pytest.mark.parametrize(
    ("tool_input", "strings"),
    [
        ("", []),
        ('"one"', ["one"]),
        ("[]", []),
        ("1", []),
        ('{"a": {"b": "one"}, "c": ["two", ["three"]]}', ["one", "two", "three"]),
        ("{broken", ["{broken"]),
        ('{"a": NaN}', ['{"a":', "NaN}"]),
    ],
)
def test_only_the_strings_of_a_call_are_extracted(tool_input: str, strings: list[str]):
    assert extract_strings(tool_input).split() == strings


@pytest.mark.fault("A9")
@pytest.mark.parametrize("brackets", ["[]", '{"a":}'], ids=["lists", "objects"])
def test_deeply_nested_arguments_are_not_an_error(brackets: str):
    opening, closing = brackets[:-1], brackets[-1]
    for depth in [*range(900, 1010), 10_000, 200_000]:
        extract_strings(opening * depth + '"x"' + closing * depth)


def test_every_character_of_a_long_run_is_spaced():
    text = "日本" * 5_000 + "word" + "語" * 3

    assert space_cjk(text) == re.sub("([日本語])", r" \1 ", text)


def test_a_message_is_indexed_up_to_a_limit():
    record = make_record("x" * (MAX_INDEXED_CHARACTERS + 5), type="user_message")

    assert len(extract_index_text(record)) == MAX_INDEXED_CHARACTERS
    assert len(extract_index_text(record, None)) == MAX_INDEXED_CHARACTERS + 5
