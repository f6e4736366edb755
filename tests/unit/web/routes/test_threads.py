"""Endpoints about threads."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.web.routes.threads import ENDPOINTS
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session


@pytest.fixture
def queries(claude: ClaudeHome) -> QueryContext:
    return make_home_with_session(claude).open_queries()


def test_a_store_without_thread_files_has_no_trees(queries: QueryContext):
    with queries:
        assert ENDPOINTS[0].answer(queries, {}) == {"projects": [], "total": 0}


@pytest.mark.parametrize("number", [1, 2])
def test_an_unknown_thread_is_an_error(queries: QueryContext, number: int):
    arguments = {"id": "zzz", "path": "plan.md"}

    with queries, pytest.raises(UserError):
        ENDPOINTS[number].answer(queries, arguments)


def test_a_thread_without_that_asset_is_an_error(queries: QueryContext):
    with queries, pytest.raises(UserError, match="has no asset"):
        ENDPOINTS[2].answer(queries, {"id": "last", "path": "../x"})


def test_an_asset_needs_a_path():
    with pytest.raises(UserError, match="path is missing"):
        ENDPOINTS[2].parse({"id": "x"}, {})
