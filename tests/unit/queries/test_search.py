"""Search results: snippets and notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from msgspec import structs

from leslied.model.record import SHELL
from leslied.queries.search import SearchMode, search_entries
from leslied.queries.search_query import parse_query
from leslied.redact import Redactor
from leslied.store.read.search import MAX_MATCH_CHARACTERS
from tests.support.clock import FakeClock
from tests.support.queries import SECRET
from tests.support.records import StoreHarness, make_event, make_record


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


# Snippets


def test_a_word_with_accents_is_in_the_snippet(harness: StoreHarness):
    harness.commit(make_record("x " * 300 + "café", "1"))

    assert "café" in harness.search("cafe")[0].snippet


def test_a_word_in_a_long_cjk_text_is_in_the_snippet(harness: StoreHarness):
    harness.commit(make_record("無" * 500 + "日本語", "1"))

    assert "日本" in harness.search("日本")[0].snippet


def test_a_korean_word_is_not_confused_with_another(harness: StoreHarness):
    """Decomposed, both words start with the same letters."""
    harness.commit(make_record("하고 " + "x " * 300 + "한국", "1"))

    assert "한국" in harness.search("한국")[0].snippet


@pytest.mark.threat("S2")
def test_a_secret_at_the_end_of_a_snippet_is_removed(harness: StoreHarness):
    """The text is redacted before it is cut."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    redact = Redactor(b"key").redact
    for gap in range(90, 141, 5):
        harness.commit(make_record(f"needle {'x' * gap} {secret}", f"{gap}"))

    with harness.reader() as reader:
        result = search_entries(
            reader,
            parse_query("needle", {}),
            "newest",
            50,
            stop_cutoff_us=0,
            redact=redact,
        )

    assert len(result.hits) == 11
    assert not any("ghp_" in hit.snippet for hit in result.hits)


# Notes


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("::", "'::' has no letter or digit"),
        ("", "no word to search for"),
        ("( )", "no word to search for"),
        ("a OR -b", "next to OR it needs a word"),
        ("a OR tool:Bash", "applies to the whole query"),
        ("c NOT (a tool:Bash)", "negated on its own"),
        ("(-a) b", "alone in parentheses"),
        ("w " * 70, "Only the first 60 words"),
        ("(" * 30 + "a", "nested too deeply"),
    ],
)
def test_a_note_explains_what_was_ignored(harness: StoreHarness, text: str, note: str):
    with harness.reader() as reader:
        query = parse_query(text, {})
        result = search_entries(
            reader, query, "newest", 5, stop_cutoff_us=0, redact=lambda text: text
        )

    assert any(note in line for line in result.notes)


# Limits and hidden sessions


@pytest.mark.parametrize("mode", get_args(SearchMode))
@pytest.mark.parametrize(("limit", "has_more"), [(1, True), (2, False), (3, False)])
def test_a_limit_that_leaves_out_hits_is_reported(
    harness: StoreHarness, mode: SearchMode, limit: int, *, has_more: bool
):
    harness.commit(make_record("needle", "a"), make_record("needle", "b"))
    query = parse_query("needle", {})
    with harness.reader() as reader:
        result = search_entries(
            reader, query, mode, limit, stop_cutoff_us=0, redact=lambda text: text
        )

    assert len(result.hits) == min(limit, 2)
    assert result.to_dict()["has_more"] is has_more


@pytest.mark.parametrize("mode", get_args(SearchMode))
@pytest.mark.parametrize("text", ["needle", "needle agent:claude-code"])
def test_hidden_sessions_are_searched_on_request(
    harness: StoreHarness, mode: SearchMode, text: str
):
    harness.commit(make_event("notice", "a", content="needle", tool_name=SHELL))
    query = parse_query(text, {})
    with harness.reader() as reader:
        counts = [
            len(
                search_entries(
                    reader,
                    structs.replace(query, with_hidden=with_hidden),
                    mode,
                    9,
                    stop_cutoff_us=0,
                    redact=lambda text: text,
                ).hits
            )
            for with_hidden in (False, True)
        ]

    assert counts == [0, 1]


@pytest.mark.threat("S2")
def test_a_secret_at_the_end_of_a_cut_text_is_not_shown(harness: StoreHarness):
    start = "x " * (MAX_MATCH_CHARACTERS // 2 - 10)
    harness.commit(make_record(f"{start}needle {SECRET}", "1"))

    (hit,) = harness.search("needle")

    assert len(hit.snippet) < 300
    assert SECRET[:4] not in hit.snippet
