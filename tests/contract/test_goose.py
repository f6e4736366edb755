"""Test how Goose's database is decoded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["goose"]


@pytest.fixture
def goose(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_turn_has_prompt_thinking_and_answer(goose: AgentHome):
    contents = goose.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("thinking") == ["The user greets me."]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(goose: AgentHome):
    main = goose.read_case("hello").main

    assert (main.cwd, main.model) == ("/home/dev/app", "scripted-1")


def test_a_name_that_the_user_gave_is_the_title(goose: AgentHome):
    assert goose.read_case("tools").main.title == "Notes"


def test_the_tokens_of_a_session_count_once(goose: AgentHome):
    contents = goose.read_case("resume")

    (child,) = contents.subagents
    # The model counted 23 tokens out for each of 8 and 2 requests.
    assert contents.main.usage == Usage(33781, 8 * 23)
    assert child.usage == Usage(6044, 2 * 23)


def test_a_subagent_is_linked_to_its_call(goose: AgentHome):
    contents = goose.read_case("subagent")

    (session,) = contents.subagents
    (child,) = contents.units()[-1].subagents
    assert session.spawn_call_id == "call_6e0994c2000018"
    assert contents.texts("user_message", session) == ["Count files [[x-goose-w]]"]
    assert (child.tool_calls, child.stop_reason) == (1, "end_turn")


def test_a_subagent_in_the_background_is_linked_to_the_call_that_started_it(
    goose: AgentHome,
):
    goose.read_case("background-agent")

    linked = [s for s in goose.read().sessions if s.is_subagent]

    assert [(s.spawn_call_id, s.description) for s in linked] == [
        ("c1", "Count the files")
    ]


def test_failed_calls_are_errors(goose: AgentHome):
    results = [p.record for p in goose.read_case("subagent").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == [
        *["Failed to read /home/dev/app/n.txt: No such file or directory (os error 2)"]
        * 2,
        "Exit code 1\nerr",
    ]


def test_written_and_edited_files_are_changes(goose: AgentHome):
    entries = goose.read_case("tools").units()[-1].entries

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")

    assert [(c.kind, c.path) for c in changes if c.kind in ("write", "edit")] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]
    (todos,) = [json.loads(c.body) for c in changes if c.kind == "todos"]
    assert [step["status"] for step in todos["steps"]] == ["completed", "pending"]


def test_what_a_compaction_adds_is_not_a_prompt(goose: AgentHome):
    contents = goose.read_case("odd-messages")

    assert contents.user_messages() == [
        ("prompt", "Look at this.\n\n[image image/png, 9 B]"),
        ("command", "/compact"),
        ("prompt", "Ask again."),
    ]
    assert contents.notes("context") == ["injected"]


def test_a_database_that_grows_is_read_once(goose: AgentHome, tmp_path: Path, clock):
    goose.read_case("subagent")

    grown = goose.read_case("resume")

    fresh = AgentHome(ADAPTER, goose.home, tmp_path / "fresh.db", clock).read()
    assert [p.entry_id for p in grown.records()] == [
        p.entry_id for p in fresh.records()
    ]
    assert [s.usage for s in grown.sessions] == [s.usage for s in fresh.sessions]
    assert grown.main.units == 2
