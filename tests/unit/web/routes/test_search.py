"""The arguments of the endpoints that search."""

from __future__ import annotations

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.web.routes.search import ENDPOINTS
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import make_home_with_session


@pytest.fixture
def app(claude: ClaudeHome) -> App:
    return make_home_with_session(claude)


def ask(app: App, path: str, **values: str) -> dict[str, object]:
    endpoint = next(each for each in ENDPOINTS if each.path == path)
    with app.open_queries() as queries:
        answer = endpoint.answer(queries, endpoint.parse({}, values))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(("typing", "count"), [("1", 1), ("0", 0)])
def test_an_unfinished_word_is_completed_while_the_user_types(
    app: App, typing: str, count: int
):
    assert ask(app, "/search", q="noth", typing=typing)["hit_count"] == count


def test_any_characters_are_searched_as_they_are_typed(app: App):
    found = ask(app, "/search", q="othin", typing="1", sort="substring")

    assert found["hit_count"] == 1


def test_a_query_is_required(app: App):
    with pytest.raises(UserError, match="q is missing"):
        ask(app, "/search")


def test_an_invalid_filter_is_explained(app: App):
    with pytest.raises(UserError, match="role:us is not a filter"):
        ask(app, "/search", q="role:us")


def test_titles_are_found(app: App):
    sessions = ask(app, "/titles", q="use")["sessions"]

    assert isinstance(sessions, list)
    assert [session["session_id"] for session in sessions] == [SESSION]
