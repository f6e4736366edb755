"""The words of a search as FTS5 syntax and as LIKE conditions."""

from __future__ import annotations

import pytest

from leslied.queries.search_query import parse_query
from leslied.store.read.match_sql import compile_fts_query, compile_like


@pytest.mark.parametrize(
    ("text", "compiled"),
    [
        ("one", '("one")'),
        ("one two*", '("one" AND "two"*)'),
        ("one OR two", '(("one" OR "two"))'),
        ("one -two", '(("one") NOT ("two"))'),
        ("-two", ""),
        ("::", ""),
        ('say:"x', '("say:x")'),
        ("日本", '(" 日  本 ")'),
    ],
)
def test_words_become_quoted_phrases(text: str, compiled: str):
    assert compile_fts_query(parse_query(text, {}).words) == compiled


def test_a_pattern_matches_special_characters_literally():
    sql, values = compile_like(parse_query("50%", {}).words)

    assert sql.count("?") == len(values)
    assert set(values) == {"%50\\%%"}
