"""The compact list of all sessions, and their costs."""

from __future__ import annotations

import pytest

from leslied.app import App
from leslied.model.query import Selection
from leslied.queries.annotations import MarksChange, change_marks
from leslied.queries.context import QueryContext
from leslied.queries.session_index import load_session_costs, load_session_index
from leslied.queries.session_list import load_session_list
from tests.support.claude import SESSION, ClaudeHome
from tests.support.golden import FIXTURES, copy_home
from tests.support.queries import SECRET, write_session


def test_a_session_names_its_texts_by_their_positions(queries: QueryContext):
    data = load_session_index(queries).to_dict()
    (session,) = data["sessions"]
    values = dict(zip(data["fields"], session, strict=True))

    assert values["id"] == SESSION
    assert data["agents"][values["agent"]] == "claude-code"
    assert data["projects"][values["project"]] == "/home/dev/app"


def test_texts_that_repeat_are_sent_once(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        data = load_session_index(queries).to_dict()

    assert len(data["sessions"]) == 2
    assert data["projects"] == ["/home/dev/app"]


def test_the_index_contains_no_secret(queries: QueryContext):
    index = load_session_index(queries)

    assert SECRET not in str(index.to_dict())


def test_only_marked_sessions_have_marks(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        change_marks(queries, SESSION, MarksChange(is_starred=True, tags="later"))
        sessions = load_session_index(queries).to_dict()["sessions"]

    marks = {session[0]: session[-1] for session in sessions}
    assert marks["another-session"] is None
    assert marks[SESSION]["starred"]
    assert marks[SESSION]["tags"] == ["later"]


@pytest.mark.parametrize("case", ["nest-old", "fork", "usage"])
def test_costs_are_those_of_the_list(app: App, claude: ClaudeHome, case: str):
    copy_home(FIXTURES / "claude_code" / case, claude.home)
    claude.sync()
    with app.open_queries() as queries:
        costs = load_session_costs(queries).to_dict()["costs"]["claude-code"]
        listed = load_session_list(queries, Selection(), with_costs=True)

    expected = {session.id: session.summary.cost.usd for session in listed.sessions}
    assert costs == {k: v for k, v in expected.items() if v is not None}
