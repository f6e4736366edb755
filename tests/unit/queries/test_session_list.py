"""The list of sessions."""

from __future__ import annotations

from leslied.app import App
from leslied.model.query import Selection
from leslied.queries.context import QueryContext
from leslied.queries.session_list import load_session_list
from tests.support.claude import SESSION, ClaudeHome
from tests.support.queries import SECRET, write_session


def test_a_listed_session_has_its_status_and_no_secret(queries: QueryContext):
    (session,) = load_session_list(queries, Selection()).to_dict()["sessions"]

    assert session["id"] == SESSION
    assert session["status"] == "stopped"
    assert SECRET not in session["title"]


def test_a_session_is_stopped_once_it_is_quiet_for_ten_minutes(
    queries: QueryContext, claude: ClaudeHome
):
    (session,) = load_session_list(queries, Selection()).sessions
    last_entry_at = session.summary.ended_at

    assert last_entry_at is not None
    claude.clock.at = last_entry_at
    assert load_session_list(queries, Selection()).sessions[0].status == "idle"


def test_a_limit_that_leaves_out_sessions_is_reported(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        limited = load_session_list(queries, Selection(limit=1))
        complete = load_session_list(queries, Selection(limit=2))

    assert (len(limited.sessions), limited.has_more) == (1, True)
    assert (len(complete.sessions), complete.has_more) == (2, False)
