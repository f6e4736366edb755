"""Snippets of texts, and the matches in them."""

from __future__ import annotations

import pytest

from leslied.model.query import Term
from leslied.queries.snippets import make_snippet


def list_matches(text: str, *terms: Term, is_substring: bool = False) -> list[str]:
    snippet = make_snippet(text, terms, is_substring=is_substring)
    return [snippet.text[start:end] for start, end in snippet.matches]


def test_a_snippet_is_one_line_around_the_term():
    text = "a\n" * 100 + "the needle\n\tis here" + " b" * 200

    snippet = make_snippet(text, [Term("needle")]).text

    assert "the needle is here" in snippet
    assert "\n" not in snippet
    assert (snippet[0], snippet[-1]) == ("…", "…")


def test_the_snippet_of_a_short_text_is_the_whole_text():
    assert make_snippet("needle", [Term("needle")]).text == "needle"


@pytest.mark.parametrize("words", [["NEEDLE"], ["nothing", "needle"], ["Needle"]])
def test_a_snippet_shows_the_first_term_that_occurs(words: list[str]):
    snippet = make_snippet("x " * 300 + "needle", [Term(word) for word in words])

    assert "needle" in snippet.text


def test_letters_that_become_longer_in_lower_case_do_not_shift_the_snippet():
    """`İ` becomes two characters in lower case."""
    snippet = make_snippet("İ" * 400 + " needle", [Term("needle")])

    assert "needle" in snippet.text


def test_a_snippet_shows_the_place_with_the_most_terms():
    text = "needle " + "x " * 300 + "a needle in a haystack"

    snippet = make_snippet(text, [Term("needle"), Term("haystack")])

    assert "a needle in a haystack" in snippet.text


def test_a_snippet_shows_a_whole_word_rather_than_a_part_of_another():
    snippet = make_snippet("import " + "x " * 300 + "the port", [Term("port")])

    assert "the port" in snippet.text


def test_a_word_that_the_pattern_does_not_find_is_shown_where_it_occurs():
    snippet = make_snippet("x " * 300 + "needles", [Term("needle")])

    assert "needles" in snippet.text
    assert snippet.matches == ()


@pytest.mark.parametrize(
    ("text", "term", "matches"),
    [
        ("Error, error: errors", Term("error"), ["Error", "error"]),
        ("Error errors", Term("err", is_prefix=True), ["Err", "err"]),
        (
            "merge-conflict, merge  conflict",
            Term("merge conflict"),
            ["merge-conflict", "merge conflict"],
        ),
        ("the tool_use_error", Term("error"), ["error"]),
        ("tool_use_error", Term("tool_use"), ["tool_use"]),
        ("日本語 text", Term("本語"), ["本語"]),
        ("café CAFE", Term("cafe"), ["café", "CAFE"]),
        ("🎉🎉 needle", Term("needle"), ["needle"]),
        ("anything", Term("::"), []),
    ],
)
def test_matches_are_whole_words(text: str, term: Term, matches: list[str]):
    assert list_matches(text, term) == matches


def test_matches_are_any_characters_in_substring_mode():
    matches = list_matches("f(x) = {x}", Term("x"), Term("= {"), is_substring=True)

    assert matches == ["x", "= {", "x"]


def test_the_longer_of_two_terms_is_marked():
    assert list_matches("a b", Term("a"), Term("a b")) == ["a b"]


def test_a_text_without_terms_has_no_matches():
    assert make_snippet("text", []) == ("text", ())
