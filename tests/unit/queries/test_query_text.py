"""Changes of a query's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.queries.query_text import (
    add_filter,
    format_filter,
    match_last_word_as_prefix,
    remove_filter,
)
from leslied.queries.search_query import find_filter_texts


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("err", "err*"),
        ("login err", "login err*"),
        ("-err", "-err*"),
        ("read_li", "read_li*"),
        ("日本", "日本*"),
    ],
)
def test_the_last_word_becomes_a_prefix(text: str, completed: str):
    assert match_last_word_as_prefix(text) == completed


@pytest.mark.parametrize(
    "text",
    ["", "e", "err ", "err*", "(err)", "a OR", "NOT", '"merge con', '"a b"', "role:us"],
)
def test_what_is_not_an_unfinished_word_stays(text: str):
    assert match_last_word_as_prefix(text) == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("app", "project:app"),
        ("my app", 'project:"my app"'),
        ("a(b)", 'project:"a(b)"'),
    ],
)
def test_a_value_is_quoted_if_necessary(value: str, written: str):
    assert format_filter("project", value) == written


@pytest.mark.parametrize("value", ["", 'a "quoted" name'])
def test_a_value_that_cannot_be_quoted_makes_no_filter(value: str):
    assert format_filter("project", value) == ""


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("err", "err agent:codex"),
        ("", "agent:codex"),
        ("err  ", "err agent:codex"),
        ('"merge con', '"merge con" agent:codex'),
    ],
)
def test_a_filter_is_added_at_the_end(text: str, changed: str):
    assert add_filter(text, "agent:codex") == changed


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("err agent:codex", "err"),
        ("agent:codex err", "err"),
        ("a agent:codex b", "a b"),
        ('a project:"my app" b', "a b"),
        ("a NOT agent:codex b", "a b"),
        ("a -agent:codex", "a"),
        ("(a agent:codex) b", "(a ) b"),
    ],
)
def test_a_filter_is_removed(text: str, changed: str):
    (part,) = find_filter_texts(text)

    assert remove_filter(text, part) == changed


@given(st.text(), st.sampled_from(["project", "tool"]), st.text())
def test_an_added_filter_is_found_and_can_be_removed(text: str, key: str, value: str):
    written = format_filter("project" if key == "project" else "tool", value)
    if not written:
        return

    changed = add_filter(text, written)
    part = find_filter_texts(changed)[-1]

    assert part.value == value
    assert written not in remove_filter(changed, part)[part.start :]
