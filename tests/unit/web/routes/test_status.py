"""The endpoint about leslied itself."""

from __future__ import annotations

from leslied.queries.operations.status import load_status
from leslied.web.routes.status import ENDPOINTS
from tests.support.claude import ClaudeHome
from tests.support.queries import make_home_with_session


def test_the_state_is_that_of_the_command(claude: ClaudeHome):
    (endpoint,) = ENDPOINTS
    with make_home_with_session(claude).open_queries() as queries:
        answer = endpoint.answer(queries, endpoint.parse({}, {}))

        assert answer == load_status(queries).to_dict()
