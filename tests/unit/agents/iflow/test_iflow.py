"""Where iFlow's sessions are, and how one is resumed."""

from __future__ import annotations

from pathlib import Path

from leslied.agents.iflow import ADAPTER
from leslied.model.source import Environment

SESSION = "session-041101e6-0000-4000-8000-000000000001"


def test_sessions_are_in_the_projects_folder():
    env = Environment(home=Path("/home/dev"), environ={}, platform="linux")

    for configured, path in ([], "/home/dev/.iflow/projects"), ([Path("/a")], "/a"):
        assert [str(r.path) for r in ADAPTER.roots(env, configured)] == [path]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"iflow --resume {SESSION}"


def test_plans_are_only_in_the_log():
    assert not ADAPTER.is_plan_file("/home/dev/.claude/plans/a.md")
