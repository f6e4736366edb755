"""Endpoints of the list of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.web.routes import ENDPOINTS
from leslied.web.routes.session_index import ENDPOINTS as INDEX_ENDPOINTS
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import SECRET, make_home_with_session

BY_PATH = {endpoint.path: endpoint for endpoint in INDEX_ENDPOINTS}


@pytest.fixture
def queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    with make_home_with_session(claude).open_queries() as queries:
        yield queries


def ask(queries: QueryContext, path: str, /, **parts: str) -> Any:
    endpoint = BY_PATH[path]
    return endpoint.answer(queries, endpoint.parse(parts, {}))


def list_by_ids(queries: QueryContext, ids: str) -> Any:
    (endpoint,) = (each for each in ENDPOINTS if each.path == "/sessions")
    return endpoint.answer(queries, endpoint.parse({}, {"ids": ids}))["sessions"]


def test_the_index_lists_all_sessions(queries: QueryContext):
    data = ask(queries, "/sessions/index")

    assert [session[0] for session in data["sessions"]] == [SESSION]
    assert SECRET not in str(data)


def test_costs_are_by_agent_and_id(queries: QueryContext):
    assert ask(queries, "/sessions/costs")["costs"]["claude-code"][SESSION] > 0


def test_subagents_are_those_of_a_session(queries: QueryContext):
    answer = ask(queries, "/sessions/{id}/subagents", id=SESSION)

    assert answer == {"subagents": []}


def test_subagents_of_an_unknown_session_are_an_error(queries: QueryContext):
    with pytest.raises(UserError):
        ask(queries, "/sessions/{id}/subagents", id="zzz")


def test_sessions_are_found_by_their_ids(queries: QueryContext):
    sessions = list_by_ids(queries, f"{SESSION},unknown")

    assert [session["id"] for session in sessions] == [SESSION]
    assert sessions[0]["cost_usd"] > 0


def test_the_start_of_an_id_is_no_id(queries: QueryContext):
    assert list_by_ids(queries, SESSION[:8]) == []


def test_no_session_id_hides_the_index():
    paths = [endpoint.path for endpoint in ENDPOINTS]

    assert paths.index("/sessions/index") < paths.index("/sessions/{id}")
