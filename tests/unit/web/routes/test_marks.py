"""Endpoints about stars, tags and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.web.routes.marks import ENDPOINTS
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import make_home_with_session


@pytest.fixture
def queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    with make_home_with_session(claude).open_queries() as context:
        yield context


def ask(queries: QueryContext, name: str, **values: object) -> Any:
    """Ask the endpoint with this last part of its path; changes are PUT requests."""
    return ask_endpoints(queries, name, ("GET", "PUT"), values)


def post(queries: QueryContext, name: str, **values: object) -> Any:
    """Send a POST request to the endpoint with this last part of its path."""
    return ask_endpoints(queries, name, ("POST",), values)


def ask_endpoints(
    queries: QueryContext, name: str, methods: tuple[str, ...], values: dict[str, Any]
) -> Any:
    path = f"/sessions/{{id}}/{name}"
    (endpoint,) = (e for e in ENDPOINTS if e.path == path and e.method in methods)
    return endpoint.answer(queries, endpoint.parse({"id": SESSION}, values))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("star", {"starred": True}, {"starred": True}),
        ("tags", {"tags": "later bug"}, {"tags": ["bug", "later"]}),
        ("note", {"note": "a note"}, {"note": "a note"}),
        ("visited", {"visited": False}, {"unread": True}),
    ],
)
def test_an_endpoint_changes_one_mark(
    queries: QueryContext,
    name: str,
    values: dict[str, object],
    expected: dict[str, object],
):
    before = ask(queries, "marks")
    changed = ask(queries, name, **values)

    assert changed == before | expected
    assert ask(queries, "marks") == changed


def test_changes_need_a_value(queries: QueryContext):
    for name in ("star", "note"):
        with pytest.raises(UserError, match="is missing"):
            ask(queries, name)


def test_tags_are_added_and_removed_without_touching_others(queries: QueryContext):
    ask(queries, "tags", tags="bug later")

    changed = post(queries, "tags", add="#Parser, docs", remove="bug missing")

    assert changed["tags"] == ["docs", "later", "parser"]


def test_a_word_that_cannot_be_a_tag_is_refused(queries: QueryContext):
    with pytest.raises(UserError, match="cannot be a tag"):
        post(queries, "tags", add="good b;d")

    assert ask(queries, "marks")["tags"] == []


def test_answers_have_the_fields_of_their_schema(queries: QueryContext):
    (endpoint,) = (e for e in ENDPOINTS if e.path.endswith("/marks"))

    assert list(ask(queries, "marks")) == endpoint.schema["required"]


def test_tags_are_counted(queries: QueryContext):
    (endpoint,) = (e for e in ENDPOINTS if e.path == "/tags")
    ask(queries, "star", starred=True)

    counts = endpoint.answer(queries, {})

    assert counts == {"starred_sessions": 1, "tags": []}
