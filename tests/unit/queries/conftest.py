"""Fixtures of the tests of queries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leslied.app import App
from leslied.queries.context import QueryContext
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    """Return an app whose store has one session."""
    return make_home_with_session(claude)


@pytest.fixture
def queries(app: App) -> Iterator[QueryContext]:
    """Yield a context that redacts secrets."""
    with app.open_queries() as context:
        yield context
