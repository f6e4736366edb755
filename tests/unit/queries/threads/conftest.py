"""A store with threads that have files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leslied.jobs import sync
from leslied.queries.context import QueryContext
from tests.support.claude import ClaudeHome
from tests.support.queries import make_app
from tests.support.thread_home import write_thread_home
from tests.unit.queries.test_projects import NoProgress


@pytest.fixture
def thread_queries(claude: ClaudeHome) -> Iterator[QueryContext]:
    """Yield a context whose threads have a plan, progress and transcripts."""
    write_thread_home(claude)
    app = make_app(claude)
    sync(app, NoProgress(), stop_all=True)
    with app.open_queries() as context:
        yield context
