"""What a search shows of an entry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.lookup import parse_query, search_entries
from leslied.lookup.search import make_snippet
from leslied.redact import Redactor
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, make_record


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


# Snippets


def test_a_snippet_is_one_line_around_the_word():
    text = "a\n" * 100 + "the needle\n\tis here" + " b" * 200

    snippet = make_snippet(text, ["needle"])

    assert "the needle is here" in snippet
    assert "\n" not in snippet
    assert (snippet[0], snippet[-1]) == ("…", "…")


def test_a_short_text_is_its_own_snippet():
    assert make_snippet("needle", ["needle"]) == "needle"


@pytest.mark.parametrize("terms", [["NEEDLE"], ["nothing", "needle"], ["Needle"]])
def test_a_snippet_shows_the_first_word_it_can(terms: list[str]):
    assert "needle" in make_snippet("x " * 300 + "needle", terms)


def test_letters_that_grow_when_folded_do_not_move_the_snippet():
    """`İ` becomes two characters in lower case."""
    assert "needle" in make_snippet("İ" * 400 + " needle", ["needle"])


def test_a_word_found_without_its_accents_is_in_the_snippet(shelf: StoreHarness):
    shelf.commit(make_record("x " * 300 + "café", "1"))

    assert "café" in shelf.search("cafe")[0].snippet


def test_a_word_found_in_a_long_cjk_text_is_in_the_snippet(shelf: StoreHarness):
    shelf.commit(make_record("無" * 500 + "日本語", "1"))

    assert "日本" in shelf.search("日本")[0].snippet


def test_a_korean_word_is_not_mistaken_for_another_in_the_snippet(shelf: StoreHarness):
    """Taken apart, both begin with the same letters."""
    shelf.commit(make_record("하고 " + "x " * 300 + "한국", "1"))

    assert "한국" in shelf.search("한국")[0].snippet


def test_a_secret_that_the_snippet_would_cut_is_gone(shelf: StoreHarness):
    """S2: redacted first, cut second."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    redact = Redactor(b"key").redact
    for gap in range(90, 141, 5):
        shelf.commit(make_record(f"needle {'x' * gap} {secret}", f"{gap}"))

    with shelf.reader() as reader:
        answer = search_entries(
            reader,
            parse_query("needle", {}),
            "newest",
            50,
            quiet_us=0,
            redact=redact,
        )

    assert len(answer.hits) == 11
    assert not any("ghp_" in hit.snippet for hit in answer.hits)


# What is said of a question


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("::", "'::' holds no letter or digit"),
        ("", "no word to find"),
        ("( )", "no word to find"),
        ("a OR -b", "NOT beside OR"),
        ("a OR tool:Bash", "A filter counts for all"),
        ("c NOT (a tool:Bash)", "left out by itself"),
        ("(-a) b", "NOT alone in parentheses"),
        ("w " * 70, "Only the first 60 words"),
        ("(" * 30 + "a", "too deep"),
    ],
)
def test_what_was_not_understood_is_told(shelf: StoreHarness, words: str, note: str):
    with shelf.reader() as reader:
        query = parse_query(words, {})
        answer = search_entries(reader, query, "newest", 5, quiet_us=0, redact=str)

    assert any(note in told for told in answer.notes)
