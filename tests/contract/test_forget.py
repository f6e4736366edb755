"""Prompts of every agent can be forgotten, and do not come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied import jobs
from leslied.store import StoreReader
from tests.support.claude import ClaudeHome
from tests.support.forget import NoProgress, forget, list_holders
from tests.support.golden import FIXTURES, copy_home
from tests.support.queries import make_app

pytestmark = pytest.mark.threat("S10")

CASES = [
    ("claude_code", "fork"),
    ("claude_code", "parallel"),
    ("codex", "fork"),
    ("codex", "packed"),
    ("codex", "subagent-v2"),
    ("copilot_cli", "tools"),
    ("gemini_cli", "document"),
    ("gemini_cli", "resume"),
    ("opencode", "fork"),
    ("opencode", "tree"),
    ("qwen_code", "resume"),
    ("qwen_code", "nested-agents"),
]


def list_prompts(claude: ClaudeHome) -> dict[str, str]:
    """Return a prompt of each session that has one, by session id."""
    with StoreReader(claude.store_path) as reader:
        return {
            session.key.session_id: placed.record.content
            for session in reader.list_sessions()
            for placed in reader.list_records(session.key)
            if placed.record.type == "user_message" and not session.is_subagent
        }


def list_entries(claude: ClaudeHome) -> set[tuple[str, str]]:
    """Return id and content of all entries with content."""
    with StoreReader(claude.store_path) as reader:
        return {
            (placed.entry_id, placed.record.content)
            for session in reader.list_sessions()
            for placed in reader.list_records(session.key)
            if placed.record.content
        }


def sync(claude: ClaudeHome, *commands: str) -> None:
    app = make_app(claude)
    for command in commands:
        if command == "rebuild":
            app.make_rebuild(lambda *_: None).run()
        else:
            jobs.sync(app, NoProgress(), stop_all=True)


@pytest.fixture
def agent_home(claude: ClaudeHome, request: pytest.FixtureRequest) -> ClaudeHome:
    agent, case = request.param
    copy_home(FIXTURES / agent / case, claude.home)
    sync(claude, "sync")
    return claude


@pytest.mark.parametrize("agent_home", CASES, indirect=True, ids="/".join)
def test_a_prompt_does_not_come_back(agent_home: ClaudeHome):
    prompt = min(list_prompts(agent_home).values(), key=len)
    before = list_entries(agent_home)
    answer = forget(agent_home, text=prompt)
    after = list_entries(agent_home)
    data: Path = agent_home.store_path.parent

    assert answer.warnings == ()
    assert after < before
    assert not {content for _, content in after if prompt in content}
    assert list_holders(prompt, data) == []
    sync(agent_home, "sync", "rebuild", "sync")
    assert list_entries(agent_home) == after
    assert list_holders(prompt, data) == []


@pytest.mark.parametrize("agent_home", CASES, indirect=True, ids="/".join)
def test_a_session_does_not_come_back(agent_home: ClaudeHome):
    session_id = min(list_prompts(agent_home))
    forget(agent_home, session_id)
    after = list_entries(agent_home)

    assert session_id not in list_prompts(agent_home)
    sync(agent_home, "sync", "rebuild", "sync")
    assert session_id not in list_prompts(agent_home)
    assert list_entries(agent_home) == after
