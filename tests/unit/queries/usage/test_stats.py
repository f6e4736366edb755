"""Usage by group, with secrets removed and a limit applied."""

from __future__ import annotations

import json

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.model.query import Filter
from leslied.model.stats import Grouping
from leslied.queries.context import QueryContext
from leslied.queries.usage.stats import StatsQuestion, load_stats, load_totals
from tests.support.claude import SESSION, ClaudeHome
from tests.support.golden import FIXTURES, copy_home
from tests.support.queries import PROJECT, SECRET, write_session


def test_stats_by_session_do_not_contain_its_secret(queries: QueryContext):
    data = load_stats(queries, StatsQuestion(by="session")).to_dict()

    assert [row["session"] for row in data["rows"]] == [SESSION]
    assert SECRET not in json.dumps(data)


def test_tool_calls_are_counted(queries: QueryContext):
    stats = load_stats(queries, StatsQuestion(by="tool"))

    assert [(row["tool"], row["calls"]) for row in stats.rows] == [("Bash", 1)]
    assert stats.totals["calls"] == 1


def test_blocks_start_at_the_full_hour(queries: QueryContext):
    (row,) = load_stats(queries, StatsQuestion(by="block")).rows

    assert row["key"].endswith(":00:00.000Z")


def test_totals_include_the_rows_that_a_limit_leaves_out(app: App, claude: ClaudeHome):
    write_session(claude, "another-session")
    claude.sync()
    with app.open_queries() as queries:
        stats = load_stats(queries, StatsQuestion(by="session", limit=1))

    assert (len(stats.rows), stats.hidden_count) == (1, 1)
    assert stats.totals["sessions"] == 2


def test_other_projects_are_not_counted(queries: QueryContext):
    counts = [
        load_stats(
            queries, StatsQuestion(by="day", filters=(Filter("project", name),))
        ).totals["sessions"]
        for name in (PROJECT, "/elsewhere")
    ]

    assert counts == [1, 0]


def test_an_unknown_agent_is_an_error(queries: QueryContext):
    question = StatsQuestion(by="day", filters=(Filter("agent", "nobody"),))

    with pytest.raises(UserError, match="nobody"):
        load_stats(queries, question)


def test_the_totals_of_a_session_need_its_id(queries: QueryContext):
    recent, session = load_totals(queries, 0, SESSION)

    assert session is not None
    assert recent.tokens == session.tokens > 0
    assert load_totals(queries, 0, "")[1] is None


@pytest.mark.parametrize("by", ["day", "block", "project"])
def test_hidden_sessions_add_tokens_but_are_not_counted(
    app: App, claude: ClaudeHome, by: Grouping
):
    with app.open_queries() as queries:
        before = load_stats(queries, StatsQuestion(by=by)).totals
    copy_home(FIXTURES / "claude_code" / "phantom", claude.home)
    claude.sync()
    with app.open_queries() as queries:
        after = load_stats(queries, StatsQuestion(by=by)).totals

    assert after["sessions"] == before["sessions"]
    assert after["output_tokens"] == before["output_tokens"] + 40


def test_a_call_that_was_killed_has_no_result_after_a_resume(
    app: App, claude: ClaudeHome
):
    copy_home(FIXTURES / "claude_code" / "resume-killed", claude.home)
    claude.sync()
    with app.open_queries() as queries:
        rows = load_stats(queries, StatsQuestion(by="tool")).rows

    assert [row["unanswered"] for row in rows if row["tool"] == "Bash"] == [1]
