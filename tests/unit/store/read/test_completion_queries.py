"""Queries for shell completion."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.store.read.completion_queries import CompletionReader, SessionCompletion
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

OLD_SESSION = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def completions(claude: ClaudeHome):
    """Yield a reader of a store with an old session and a new one with a subagent."""
    old, new = (
        ClaudeLogBuilder(OLD_SESSION, cwd="/home/dev/mill"),
        ClaudeLogBuilder(SESSION),
    )
    claude.write(old.prompt("old\nprompt"), name=f"-home-dev-mill/{OLD_SESSION}.jsonl")
    claude.write(*(new.prompt(f"prompt {number}") for number in range(5)))
    claude.write(new.line("ai-title", aiTitle="A title"))
    subagent_line = {
        **ClaudeLogBuilder(SESSION).prompt("do it"),
        "isSidechain": True,
        "agentId": "a1",
    }
    claude.write(
        subagent_line, name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl"
    )
    claude.sync()
    with CompletionReader(claude.store_path) as completions:
        yield completions


def test_sessions_are_listed_newest_first_without_subagents(
    completions: CompletionReader,
):
    assert completions.list_sessions("", 9) == [
        SessionCompletion(SESSION, "thread-11111111", "A title"),
        SessionCompletion(OLD_SESSION, "thread-99999999", "old\nprompt"),
    ]


@pytest.mark.parametrize("prefix", ["9999", "thread-9"])
def test_a_prefix_matches_the_session_id_or_the_thread_id(
    completions: CompletionReader, prefix: str
):
    assert [match.session_id for match in completions.list_sessions(prefix, 9)] == [
        OLD_SESSION
    ]


@pytest.mark.parametrize("prefix", ["%", "_", "2222", "' OR 1"])
def test_a_prefix_is_matched_literally(completions: CompletionReader, prefix: str):
    assert completions.list_sessions(prefix, 9) == []


def test_the_number_of_sessions_is_limited(completions: CompletionReader):
    assert len(completions.list_sessions("", 1)) == 1


def test_agents_and_folders_are_listed(completions: CompletionReader):
    assert completions.list_agents() == ["claude-code"]
    assert completions.list_projects() == ["/home/dev/app", "/home/dev/mill"]


def test_before_the_first_sync_opening_raises_an_error(claude: ClaudeHome):
    with pytest.raises(UserError):
        CompletionReader(claude.store_path)
