"""Data for a bug report."""

from __future__ import annotations

from leslied.queries.bug_report import (
    collect_store_state,
    collect_versions,
    dump_session,
    list_rejected,
)
from leslied.queries.context import QueryContext
from tests.support.queries import SECRET


def test_the_versions_name_all_agents_and_formats():
    versions = collect_versions()

    assert "claude-code" in versions["agents"]
    assert "json" in versions["outputs"]


def test_the_state_of_an_undamaged_store_is_ok(queries: QueryContext):
    state = collect_store_state(queries)

    assert state["store_check"] == "ok"
    assert state["store"]["sessions"] == 1
    assert list_rejected(queries) == []


def test_the_session_contains_no_secret(queries: QueryContext):
    assert SECRET not in dump_session(queries, "last")
