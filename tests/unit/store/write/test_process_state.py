"""Which sessions are live, and which wait for the user."""

from __future__ import annotations

import pytest

from leslied.model.session import Activity
from leslied.store import Store
from leslied.store.write.process_state import find_live_changes, find_waiting_changes
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

AGENT = "claude-code"
FAR_US = 2**52
"""A time after all entries."""


@pytest.fixture
def store(claude: ClaudeHome):
    builder = ClaudeLogBuilder()
    claude.write(builder.prompt("plan it"), builder.call("ExitPlanMode", {}, "c1"))
    with Store(claude.store_path, claude.clock) as store:
        claude.sync(store)
        yield store


def test_sessions_that_start_or_cease_to_be_live_change(store: Store):
    assert len(find_live_changes(store._db, AGENT, [SESSION])) == 1
    store.mark_live(AGENT, [SESSION])
    assert find_live_changes(store._db, AGENT, [SESSION]) == []
    assert len(find_live_changes(store._db, AGENT, [])) == 1


def test_only_a_live_session_waits_for_an_open_call(store: Store):
    assert find_waiting_changes(store._db, AGENT, {}) == []
    store.mark_live(AGENT, [SESSION])

    ((kind, _, _),) = find_waiting_changes(store._db, AGENT, {})

    assert kind == "permission"


def test_a_reported_activity_changes_the_session_once(store: Store):
    activities = {SESSION: Activity("question", FAR_US), "unknown": Activity("busy", 0)}
    store.mark_waiting(AGENT, activities)

    assert find_waiting_changes(store._db, AGENT, activities) == []
    store.mark_stopped(AGENT, [SESSION])
    ((kind, since_us, _),) = find_waiting_changes(store._db, AGENT, activities)
    assert (kind, since_us) == ("", 0)


def test_finding_changes_reads_only_sessions_that_may_wait(store: Store):
    plan = store._db.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM session "
        "WHERE agent = 'a' AND waiting_for <> ''"
    ).fetchall()

    assert "session_waiting" in str(plan)
