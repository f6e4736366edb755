"""Which sessions pruning would delete."""

from __future__ import annotations

from leslied.queries.context import QueryContext
from leslied.queries.operations.prune_plan import (
    PruneRequest,
    RetentionPolicy,
    plan_prune,
)
from tests.support.claude import SESSION
from tests.support.queries import SECRET

REQUEST = PruneRequest(policy=RetentionPolicy(keep_newest=0), command="leslied prune")


def test_a_plan_lists_the_sessions_without_secrets(queries: QueryContext):
    answer = plan_prune(queries, REQUEST, lambda _: "")
    data = answer.to_dict()

    assert [session["id"] for session in data["sessions"]] == [SESSION]
    assert data["sessions"][0]["why"] == ["surplus"]
    assert SECRET not in str(data)
    assert (data["done"], data["command"]) == (False, "leslied prune")


def test_a_session_with_a_reason_to_stay_is_kept(queries: QueryContext):
    data = plan_prune(queries, REQUEST, lambda _: "active").to_dict()

    assert (data["count"], data["staying"]) == (0, {"active": 1})
