"""Test how OpenClaw's databases are decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["openclaw"]
DATABASE = ".openclaw/agents/main/agent/openclaw-agent.sqlite"
MIB = 1024 * 1024


@pytest.fixture
def openclaw(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_turn_has_prompt_thinking_and_answer(openclaw: AgentHome):
    contents = openclaw.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("thinking") == ["The user greets me."]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(openclaw: AgentHome):
    main = openclaw.read_case("tools").main

    assert (main.cwd, main.model) == ("/home/dev/app", "scripted-1")


def test_a_session_goes_on_in_another_process(openclaw: AgentHome):
    contents = openclaw.read_case("tools")

    assert [unit.stop_reason for unit in contents.units() if unit.number] == [
        "end_turn",
        "end_turn",
    ]
    # The client's sums are those of the last turn; six requests in all.
    assert contents.main.usage == Usage(13003 + 66528, 24 + 164, 11 + 55, 7 + 35)


def test_a_failed_command_has_its_exit_code(openclaw: AgentHome):
    last = openclaw.read_case("tools").records("tool_result")[-1].record

    assert last.content == "Exit code 1\nerr"
    assert last.metadata == {"exit_code": 1, "is_error": True}


def test_written_and_edited_files_are_found(openclaw: AgentHome):
    entries = openclaw.read_case("tools").units()[-1].entries

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")
    assert [(change.kind, change.path) for change in changes] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


def test_subagents_are_linked_to_their_calls(openclaw: AgentHome):
    contents = openclaw.read_case("subagents")

    unit = contents.units()[1]
    (child,) = unit.subagents
    (grandchild,) = child.subagents
    assert child.summary.spawn_call_id == "c1"
    assert grandchild.summary.spawn_call_id == "c2"
    assert [p.record.content for p in grandchild.entries if p.record.content] == [
        "Count the rest",
        "Two.",
    ]


def test_compressed_events_are_read(openclaw: AgentHome):
    contents = openclaw.read_case("subagents")

    assert contents.texts("assistant_message")[-1] == "Three files. " * 200


def test_lines_of_older_versions_are_read(openclaw: AgentHome):
    contents = openclaw.read_case("old-log")

    assert contents.user_messages() == [("prompt", "say hi")]
