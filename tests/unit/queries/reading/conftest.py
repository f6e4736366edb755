"""Fixtures of the tests of the reader's queries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leslied.queries.context import QueryContext
from tests.support.claude import ClaudeHome
from tests.support.pages import write_sample_session
from tests.support.queries import make_app


@pytest.fixture
def sample(claude: ClaudeHome) -> Iterator[QueryContext]:
    """Yield a context with the sample session, which has every kind of entry."""
    write_sample_session(claude)
    claude.sync()
    with make_app(claude).open_queries() as context:
        yield context
