"""Conversion of a session's row to the summary that lists show."""

from __future__ import annotations

from typing import Any

import pytest

from leslied.model.record import SessionKey, Usage
from leslied.model.session import SessionSummary
from leslied.store.read.session_summary import SummaryRow, make_summary

ROW = SummaryRow(
    id=7,
    agent="codex",
    session_id="s",
    source="main",
    thread_id="thread-1",
    title="",
    first_prompt="",
    cwd="/app",
    model="m",
    started_us=None,
    ended_us=1_000_000,
    units=2,
    forks="",
    tool_calls=3,
    has_turn_ended=1,
    stopped_us=None,
    spawn_call_id="",
    parent_agent="",
    agent_type="",
    description="",
    seen_us=0,
    folder=b"/app",
    is_live=1,
    waiting_for="",
    project=None,
    worktree=None,
    subagent_active_us=None,
    is_hidden=0,
)


def unpack(**columns: Any) -> SessionSummary:
    """Return the summary of ROW with some columns replaced."""
    return make_summary(ROW._replace(**columns), Usage(input_tokens=5))


def test_columns_become_flags_times_and_paths():
    summary = unpack()

    assert summary.key == SessionKey("codex", "s")
    assert summary.started_at is None
    assert summary.ended_at is not None
    assert summary.ended_at.timestamp() == 1
    assert (summary.has_turn_ended, summary.is_stopped, summary.is_live) == (
        True,
        False,
        True,
    )
    assert summary.folder == "/app"
    assert summary.usage.input_tokens == 5


@pytest.mark.parametrize(
    ("columns", "title"),
    [
        ({"title": "Named", "first_prompt": "fix it"}, "Named"),
        ({"first_prompt": "\nfix it\nnow", "description": "d"}, "fix it"),
        ({"description": "count files"}, "count files"),
    ],
)
def test_the_title_is_the_agents_title_else_the_prompt_else_the_description(
    columns: dict[str, str], title: str
):
    assert unpack(**columns).title == title


def test_the_project_is_the_working_directory_until_it_is_looked_up():
    summary = unpack()

    assert (summary.project, summary.is_project_known) == ("/app", False)


def test_the_project_and_working_tree_of_the_working_directory_are_known():
    summary = unpack(project="/repo", worktree="/tree")

    assert (summary.project, summary.worktree) == ("/repo", "/tree")
    assert summary.is_project_known


def test_a_session_that_waits_says_for_what():
    assert unpack().waiting_for is None
    assert unpack(waiting_for="question").waiting_for == "question"
