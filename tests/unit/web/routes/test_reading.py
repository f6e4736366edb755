"""Endpoints of the reader."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.web.endpoint import Content
from leslied.web.routes.reading import ENDPOINTS
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import SECRET, make_home_with_session


@pytest.fixture
def queries(claude: ClaudeHome) -> QueryContext:
    return make_home_with_session(claude).open_queries()


def ask(queries: QueryContext, ending: str, **values: Any) -> Any:
    """Ask the endpoint whose path ends like this."""
    endpoint = next(e for e in ENDPOINTS if e.path.endswith(ending))
    path = {
        n: values.pop(n) for n in ("entry", "number") if f"{{{n}}}" in endpoint.path
    }
    return endpoint.answer(queries, endpoint.parse({"id": SESSION, **path}, values))


def test_every_endpoint_answers(queries: QueryContext):
    page = ask(queries, "/messages", unit=1)
    entry = page["messages"][0]["id"]

    assert len(ask(queries, "/outline")["units"]) == 2
    assert ask(queries, "/position", entry=entry)["unit"] == 1
    assert ask(queries, "/entries/{entry}", entry=entry)["entry"]["entry_id"] == entry
    assert SECRET in str(ask(queries, "/reveal", unit=1))
    copy = ask(queries, "/copy", format="leslie", unit=2)
    assert isinstance(copy, Content)
    assert b"And now?" in copy.body


@pytest.mark.threat("W2")
def test_secrets_are_revealed_only_by_a_request_that_needs_the_token():
    (endpoint,) = [e for e in ENDPOINTS if e.path.endswith("/reveal")]

    assert endpoint.method == "POST"


@pytest.mark.parametrize(
    ("ending", "values"),
    [
        ("/messages", {"unit": "-1"}),
        ("/messages", {"page": "x"}),
        ("/messages", {"reveal": "true"}),
        ("/position", {}),
        ("/copy", {"format": "html"}),
        ("/images/{number}", {"entry": "0" * 32, "number": "x"}),
        ("/images/{number}", {"entry": "0" * 32, "number": "0"}),
        ("/entries/{entry}", {"entry": "../../etc/passwd"}),
    ],
)
def test_bad_input_is_an_error_that_says_why(
    queries: QueryContext, ending: str, values: dict[str, str]
):
    with pytest.raises(UserError):
        ask(queries, ending, **values)
