"""Test how Hermes' database is decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["hermes"]


@pytest.fixture
def hermes(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_turn_has_prompt_thinking_and_answer(hermes: AgentHome):
    contents = hermes.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("thinking") == ["The user greets me."]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(hermes: AgentHome):
    main = hermes.read_case("hello").main

    assert (main.cwd, main.model) == ("/home/dev/app", "scripted-1")


def test_the_tokens_of_every_request_count_once(hermes: AgentHome):
    contents = hermes.read_case("subagent")

    (child,) = contents.subagents
    # For each request, the model counted 23 tokens out and 11 from its cache.
    assert contents.main.usage == Usage(95428, 7 * 23, 7 * 11)
    assert child.usage == Usage(19275, 2 * 23, 2 * 11)


def test_the_tokens_of_all_models_of_a_session_count(hermes: AgentHome):
    main = hermes.read_case("resume").main

    assert (main.usage, main.title, main.units) == (Usage(57, 11, 5), "Two turns", 2)


def test_a_subagent_is_linked_to_its_call(hermes: AgentHome):
    contents = hermes.read_case("subagent")

    (session,) = contents.subagents
    (child,) = contents.units()[-1].subagents
    assert (session.spawn_call_id, session.cwd) == (
        "call_554ed835000192",
        "/home/dev/app",
    )
    assert (child.tool_calls, child.stop_reason) == (1, "end_turn")


def test_a_subagent_whose_call_is_not_certain_belongs_to_its_session(
    hermes: AgentHome,
):
    contents = hermes.read_case("parallel-agents")

    links = {s.key.subagent_id: s.spawn_call_id for s in contents.subagents}
    parents = {s.key.subagent_id: s.parent_agent for s in contents.subagents}
    assert links == {"s2": "c1", "s3": "", "s4": "c3"}
    assert parents == {"s2": "", "s3": "", "s4": "s2"}


def test_a_failed_command_is_an_error(hermes: AgentHome):
    results = [p.record for p in hermes.read_case("subagent").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == ["Exit code 1\nerr"]


def test_written_and_edited_files_are_changes(hermes: AgentHome):
    entries = hermes.read_case("subagent").units()[-1].entries

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")

    assert [(c.kind, c.path) for c in changes if c.kind in ("write", "edit")] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]
    assert len([c for c in changes if c.kind == "todos"]) == 1


def test_the_summary_of_a_compaction_is_not_a_prompt(hermes: AgentHome):
    contents = hermes.read_case("odd-messages")

    (continued,) = [s for s in contents.sessions if s.key.session_id == "s2"]
    assert contents.texts("user_message", continued) == ["Go on."]


def test_a_database_that_grows_is_read_once(hermes: AgentHome, tmp_path: Path, clock):
    hermes.read_case("subagent")

    grown = hermes.read_case("continued")

    fresh = AgentHome(ADAPTER, hermes.home, tmp_path / "fresh.db", clock).read()
    assert [s.usage for s in grown.sessions] == [s.usage for s in fresh.sessions]
    assert [[p.entry_id for p in grown.records(session=s)] for s in grown.sessions] == [
        [p.entry_id for p in fresh.records(session=s)] for s in fresh.sessions
    ]
    assert len(grown.sessions) == 3
