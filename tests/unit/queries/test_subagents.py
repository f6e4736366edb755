"""The subagents of a session."""

from __future__ import annotations

import pytest

from leslied.app import App
from leslied.errors import UserError
from leslied.queries.context import QueryContext
from leslied.queries.session_index import load_session_index
from leslied.queries.subagents import load_subagents
from tests.support.claude import SESSION, ClaudeHome
from tests.support.golden import FIXTURES, copy_home


def list_subagents(app: App, claude: ClaudeHome, case: str) -> list[dict[str, object]]:
    """Return the subagents of the only session of a fixture that has any."""
    copy_home(FIXTURES / "claude_code" / case, claude.home)
    claude.sync()
    with app.open_queries() as queries:
        rows = load_session_index(queries).rows
        (session_id,) = {row.session_id for row in rows if row.subagents}
        subagents: list[dict[str, object]] = load_subagents(
            queries, session_id
        ).to_dict()["subagents"]
    return subagents


def test_a_subagent_has_its_type_its_task_and_its_cost(app: App, claude: ClaudeHome):
    (subagent,) = list_subagents(app, claude, "sub1")

    assert subagent["agent_type"] == "general-purpose"
    assert subagent["description"]
    assert subagent["cost_usd"]
    assert subagent["spawned_by"] is None


def test_a_nested_subagent_names_the_one_that_spawned_it(app: App, claude: ClaudeHome):
    subagents = list_subagents(app, claude, "nest-old")

    parents = {each["id"]: each["spawned_by"] for each in subagents}
    spawned_by_subagents = [parent for parent in parents.values() if parent]
    assert spawned_by_subagents
    assert set(spawned_by_subagents) <= set(parents)


def test_a_session_without_subagents_has_none(queries: QueryContext):
    assert load_subagents(queries, SESSION).to_dict() == {"subagents": []}


def test_an_unknown_session_is_an_error(queries: QueryContext):
    with pytest.raises(UserError):
        load_subagents(queries, "zzz")
