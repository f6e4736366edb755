"""Fixtures of the tests of the page's server."""

from __future__ import annotations

import pytest

from leslied.app import App
from leslied.web.access import Access
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    """Return an app whose store has one session."""
    return make_home_with_session(claude)


@pytest.fixture
def access(app: App) -> Access:
    return Access(app.paths, app.clock)
