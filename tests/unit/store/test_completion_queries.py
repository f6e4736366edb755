"""The names that a shell can offer."""

from __future__ import annotations

import pytest

from leslied.errors import UserError
from leslied.store.completion_queries import CompletionReader, SessionCompletion
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def names(claude: ClaudeHome):
    """Those of an old session, and of a newer one with a subagent and a title."""
    old, new = ClaudeLogBuilder(OTHER, cwd="/home/dev/mill"), ClaudeLogBuilder(SESSION)
    claude.write(old.prompt("old\nprompt"), name=f"-home-dev-mill/{OTHER}.jsonl")
    claude.write(*(new.prompt(f"prompt {number}") for number in range(5)))
    claude.write(new.line("ai-title", aiTitle="A title"))
    child = {
        **ClaudeLogBuilder(SESSION).prompt("do it"),
        "isSidechain": True,
        "agentId": "a1",
    }
    claude.write(child, name=f"-home-dev-app/{SESSION}/subagents/agent-a1.jsonl")
    claude.sync()
    with CompletionReader(claude.store_path) as names:
        yield names


def test_sessions_are_named_newest_first_without_their_subagents(
    names: CompletionReader,
):
    assert names.list_sessions("", 9) == [
        SessionCompletion(SESSION, "thread-11111111", "A title"),
        SessionCompletion(OTHER, "thread-99999999", "old\nprompt"),
    ]


@pytest.mark.parametrize("beginning", ["9999", "thread-9"])
def test_a_beginning_chooses_by_either_id(names: CompletionReader, beginning: str):
    assert [each.session_id for each in names.list_sessions(beginning, 9)] == [OTHER]


@pytest.mark.parametrize("beginning", ["%", "_", "2222", "' OR 1"])
def test_a_beginning_is_no_pattern(names: CompletionReader, beginning: str):
    assert names.list_sessions(beginning, 9) == []


def test_there_are_no_more_than_are_wanted(names: CompletionReader):
    assert len(names.list_sessions("", 1)) == 1


def test_agents_and_folders_are_named(names: CompletionReader):
    assert names.list_agents() == ["claude-code"]
    assert names.list_folders() == ["/home/dev/app", "/home/dev/mill"]


def test_there_are_no_names_before_the_first_sync(claude: ClaudeHome):
    with pytest.raises(UserError):
        CompletionReader(claude.store_path)
