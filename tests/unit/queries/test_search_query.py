"""Parsing of search queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.errors import UserError
from leslied.model.query import AllOf, AnyOf, Filter, Term
from leslied.queries.search_query import find_filter_texts, has_syntax, parse_query

A, B, C = Term("a"), Term("b"), Term("c")


@pytest.mark.parametrize(
    ("text", "parts", "excluded"),
    [
        ("a b", (A, B), ()),
        ("a AND b", (A, B), ()),
        ("a OR b", (AnyOf((A, B)),), ()),
        ("a OR b c", (AnyOf((A, AllOf((B, C)))),), ()),
        ("(a OR b) c", (AnyOf((A, B)), C), ()),
        ("a -b", (A,), (B,)),
        ("a NOT b", (A,), (B,)),
        ("-b", (), (B,)),
        ('"a b" c', (Term("a b"), C), ()),
        ('-"a b"', (), (Term("a b"),)),
        ("a*", (Term("a", is_prefix=True),), ()),
        ('"a b"*', (Term("a b", is_prefix=True),), ()),
        ('"a', (A,), ()),
        ("and or not", (Term("and"), Term("or"), Term("not")), ()),
        ("--a", (Term("--a"),), ()),
        ("main()", (Term("main()"),), ()),
        ("(main())", (Term("main()"),), ()),
        ("a)", (Term("a)"),), ()),
        ("http://a.b", (Term("http://a.b"),), ()),
        ("NOT", (), ()),
        ("OR OR", (), ()),
        ("()", (), ()),
    ],
)
def test_operators_are_parsed(text: str, parts: tuple, excluded: tuple):
    assert parse_query(text, {}).words == AllOf(parts, excluded)


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("agent:codex", [Filter("agent", "codex")]),
        ("-tool:Bash a", [Filter("tool", "Bash", is_negated=True)]),
        ("NOT tool:Bash", [Filter("tool", "Bash", is_negated=True)]),
        ('project:"my app"', [Filter("project", "my app")]),
        ("after:5", [Filter("after", 5)]),
        ("(is:error OR a)", [Filter("is", "error")]),
        ("a NOT (tool:Bash)", [Filter("tool", "Bash", is_negated=True)]),
        ("a NOT (b OR (tool:Bash))", [Filter("tool", "Bash", is_negated=True)]),
        ("tool: Bash", []),
        ("toll:Bash", []),
    ],
)
def test_filters_are_separated_from_words(text: str, filters: list[Filter]):
    assert list(parse_query(text, {"after": int}).filters) == filters


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("role:robot", "role:user"),
        ("status:dead", "status:active, status:idle, status:stopped"),
        ("is:fine", "is:error, is:subagent"),
    ],
)
def test_the_error_for_an_invalid_filter_lists_the_valid_ones(text: str, valid: str):
    with pytest.raises(UserError) as caught:
        parse_query(text, {})

    assert text in caught.value.message
    assert valid in caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("merge conflict", False),
        ("a or b", False),
        ("main() returns", False),
        ("a OR b", True),
        ("a -b", True),
        ('say "hi"', True),
        ("(a b)", True),
        ("tool:Bash rm", True),
    ],
)
def test_query_syntax_is_detected(text: str, expected: bool):  # noqa: FBT001
    assert has_syntax(text) is expected


@pytest.mark.fault("A5")
@pytest.mark.parametrize("text", ["tool:\udcff", "\udcff", "project:/a\0b", "a\0"])
def test_invalid_characters_are_replaced(text: str):
    """A shell can pass bytes that are not valid UTF-8."""
    query = parse_query(text, {})

    words = [*(term.text for term in query.terms), *(f.value for f in query.filters)]
    assert all(word.encode() and "\0" not in word for word in words)


@pytest.mark.threat("W7")
@given(st.text())
def test_any_text_is_a_valid_query(text: str):
    """Only a filter with an invalid value is refused."""
    try:
        query = parse_query(text, {})
    except UserError:
        assert ":" in text
    else:
        assert len(query.terms) <= 60


# Filters as they are written


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("word", []),
        ("a:b http://x", []),
        ("agent:codex word", [("agent", "codex", False, "agent:codex")]),
        ("-tool:Bash", [("tool", "Bash", True, "-tool:Bash")]),
        ("NOT tool:Bash", [("tool", "Bash", True, "NOT tool:Bash")]),
        ('project:"my app"', [("project", "my app", False, 'project:"my app"')]),
        ("(role:us)", [("role", "us", False, "role:us")]),
    ],
)
def test_filters_are_found_in_a_text_also_invalid_ones(
    text: str, found: list[tuple[str, str, bool, str]]
):
    parts = find_filter_texts(text)

    assert found == [
        (part.key, part.value, part.is_negated, text[part.start : part.end])
        for part in parts
    ]
