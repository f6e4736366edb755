"""Endpoints about sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.value_parsers import SESSION_FILTER_KEYS
from leslied.web.routes.sessions import ENDPOINTS
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import SECRET, make_home_with_session

BY_PATH = {endpoint.path: endpoint for endpoint in ENDPOINTS}


@pytest.fixture
def queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    with make_home_with_session(claude).open_queries() as queries:
        yield queries


def ask(queries: QueryContext, path: str, /, **values: str) -> Any:
    id_ = values.pop("id", None)
    endpoint = BY_PATH[path]
    arguments = endpoint.parse({"id": id_} if id_ else {}, values)
    return endpoint.answer(queries, arguments)


def test_the_page_has_the_filters_of_list():
    parameters = {param.name for param in BY_PATH["/sessions"].params}

    assert set(SESSION_FILTER_KEYS) <= parameters


def test_sessions_are_listed(queries: QueryContext):
    sessions = ask(queries, "/sessions")["sessions"]

    assert [session["id"] for session in sessions] == [SESSION]


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ({"agent": "claude-code"}, 1),
        ({"agent": "codex"}, 0),
        ({"project": "/home/dev/app"}, 1),
        ({"project": "/elsewhere"}, 0),
        ({"since": "2020-01-01"}, 1),
        ({"until": "2020-01-01"}, 0),
        ({"limit": "0"}, 0),
    ],
)
def test_filters_select_sessions(queries: QueryContext, values: Any, count: int):
    assert len(ask(queries, "/sessions", **values)["sessions"]) == count


def test_an_invalid_time_is_an_error(queries: QueryContext):
    with pytest.raises(UserError):
        ask(queries, "/sessions", since="yesteryear")


def test_a_session_is_shown_without_secrets(queries: QueryContext):
    answer = ask(queries, "/sessions/{id}", id=SESSION)

    assert answer["units"][-1]["prompt"] == "And now?"
    assert SECRET not in json.dumps(answer)


def test_an_unknown_session_is_an_error(queries: QueryContext):
    with pytest.raises(UserError, match="zzz"):
        ask(queries, "/sessions/{id}", id="zzz")
