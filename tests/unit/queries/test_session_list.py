"""The list of sessions."""

from __future__ import annotations

from datetime import timedelta

from leslied.app import App
from leslied.model.query import Filter, Selection
from leslied.model.session import Activity
from leslied.model.times import to_us
from leslied.queries.context import QueryContext
from leslied.queries.session_list import load_session_list, select_waiting
from leslied.store import Store
from tests.support.claude import SESSION, ClaudeHome
from tests.support.golden import FIXTURES, copy_home
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
    statuses = []
    for seconds in (0, 600 - 1, 600 + 1):
        claude.clock.at = last_entry_at + timedelta(seconds=seconds)
        (session,) = load_session_list(queries, Selection()).sessions
        statuses.append(session.status)
    assert statuses == ["idle", "idle", "stopped"]


def test_a_session_with_an_open_dialog_waits_until_it_stops(
    queries: QueryContext, claude: ClaudeHome
):
    (session,) = load_session_list(queries, Selection()).sessions
    assert session.summary.ended_at is not None
    claude.clock.at = session.summary.ended_at
    activity = Activity("permission", to_us(claude.clock.at))
    with Store(claude.store_path, claude.clock) as store:
        store.mark_waiting({("claude-code", SESSION): activity})

    assert select_waiting(queries) == (("claude-code", SESSION),)
    claude.clock.advance(3600)
    assert select_waiting(queries) == ()


def test_a_limit_that_leaves_out_sessions_is_reported(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        limited = load_session_list(queries, Selection(limit=1))
        complete = load_session_list(queries, Selection(limit=2))

    assert (len(limited.sessions), limited.has_more) == (1, True)
    assert (len(complete.sessions), complete.has_more) == (2, False)


def test_hidden_sessions_are_counted_and_listed_on_request(
    app: App, claude: ClaudeHome
):
    copy_home(FIXTURES / "claude_code" / "phantom", claude.home)
    claude.sync()
    with app.open_queries() as queries:
        default = load_session_list(queries, Selection(with_hidden=False))
        complete = load_session_list(queries, Selection())

    assert default.to_dict()["hidden_sessions"] == 2
    assert [session.id for session in default.sessions] == [SESSION]
    hidden = [each["hidden"] for each in complete.to_dict()["sessions"]]
    assert sorted(hidden) == [False, True, True]


def test_hidden_sessions_of_other_projects_are_not_counted(
    app: App, claude: ClaudeHome
):
    copy_home(FIXTURES / "claude_code" / "phantom", claude.home)
    claude.sync()
    filters = (Filter("project", "/nowhere"),)
    with app.open_queries() as queries:
        answer = load_session_list(
            queries, Selection(filters=filters, with_hidden=False)
        )

    assert answer.hidden == 0


def test_warmups_are_not_counted_as_subagents(app: App, claude: ClaudeHome):
    copy_home(FIXTURES / "claude_code" / "warmup", claude.home)
    claude.sync()
    selection = Selection(filters=(Filter("session", "f2ffb49c"),), with_hidden=False)
    with app.open_queries() as queries:
        (session,) = load_session_list(queries, selection, with_subagents=True).sessions

    assert session.summary.subagents == 0
