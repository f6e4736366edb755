"""Which sessions are live, and which wait for the user."""

from __future__ import annotations

import pytest

from leslied.model.session import Activity
from leslied.store import Store
from leslied.store.write.process_state import find_live_changes, find_waiting_changes
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

AGENT = "claude-code"
KEY = (AGENT, SESSION)
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
    assert len(find_live_changes(store._db, [KEY])) == 1
    store.mark_live([KEY])
    assert find_live_changes(store._db, [KEY]) == []
    assert len(find_live_changes(store._db, [])) == 1


def test_only_a_live_session_waits_for_an_open_call(store: Store):
    assert find_waiting_changes(store._db, {}) == []
    store.mark_live([KEY])

    ((kind, _, _),) = find_waiting_changes(store._db, {})

    assert kind == "permission"


def test_a_reported_activity_changes_the_session_once(store: Store):
    activities = {
        KEY: Activity("question", FAR_US),
        (AGENT, "unknown"): Activity("busy", 0),
    }
    store.mark_waiting(activities)

    assert find_waiting_changes(store._db, activities) == []
    store.mark_stopped(AGENT, [SESSION])
    ((kind, since_us, _),) = find_waiting_changes(store._db, activities)
    assert (kind, since_us) == ("", 0)


def test_finding_changes_reads_only_sessions_that_may_wait(store: Store):
    plans = []
    for condition in ("is_live", "waiting_for <> ''"):
        sql = f"EXPLAIN QUERY PLAN SELECT id FROM session WHERE {condition}"
        plans += [row[3] for row in store._db.execute(sql)]
    assert "session_live" in plans[0]
    assert "session_waiting" in plans[1]
