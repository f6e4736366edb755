"""Test how OpenHands' conversations are decoded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome
from tests.support.golden import FIXTURES

ADAPTER = load_adapters()["openhands"]


@pytest.fixture
def openhands(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_turn_has_prompt_and_answer(openhands: AgentHome):
    contents = openhands.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(openhands: AgentHome):
    main = openhands.read_case("hello").main

    assert (main.cwd, main.model) == ("/home/dev/app", "openai/scripted-1")


def test_the_tokens_of_a_subagent_count_once(openhands: AgentHome):
    contents = openhands.read_case("subagent")

    (child,) = contents.subagents
    # The model counted 23 tokens out and 11 cached ones for each of 6 and 2 requests.
    assert contents.main.usage == Usage(54877 - 66, 6 * 23, 66)
    assert child.usage == Usage(16056 - 22, 2 * 23, 22)


def test_a_subagent_is_linked_to_its_call(openhands: AgentHome):
    contents = openhands.read_case("subagent")

    (session,) = contents.subagents
    (child,) = contents.units()[-1].subagents
    assert session.spawn_call_id == "call_554ed835000226"
    assert contents.texts("user_message", session) == ["Count files [[x-oh-w]]"]
    assert (child.tool_calls, child.stop_reason) == (1, "end_turn")


def test_subagents_of_one_call_and_of_subagents_are_linked(openhands: AgentHome):
    contents = openhands.read_case("delegates")

    links = {s.key.source[9:11]: s.spawn_call_id for s in contents.subagents}
    assert links == {
        "d1": "call_r1_1",
        "d2": "call_r1_1",
        "d3": "call_r2_3",
        "e1": "call_n1_1",
    }


def test_a_command_that_failed_has_its_exit_code(openhands: AgentHome):
    contents = openhands.read_case("subagent")

    results = contents.records("tool_result")
    errors = [r.record for r in results if r.record.metadata.get("is_error")]
    assert [(r.content, r.metadata["exit_code"]) for r in errors] == [
        ("Exit code 1\nerr", 1)
    ]


def test_files_that_the_agent_changed_are_listed(openhands: AgentHome):
    contents = openhands.read_case("subagent")

    entries = contents.units()[-1].entries
    changes = find_file_changes(entries, "/home/dev/app", "chat-1")
    assert [(c.kind, c.path) for c in changes] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


def test_the_task_list_of_the_agent_is_known(openhands: AgentHome):
    contents = openhands.read_case("thinking")

    entries = contents.units()[1].entries
    changes = find_file_changes(entries, "/home/dev/app", "chat-1")
    bodies = [json.loads(c.body)["steps"] for c in changes if c.kind == "todos"]
    assert bodies == [[{"text": "Run tests", "status": "in_progress"}]]


def test_a_final_message_is_an_answer_and_ends_the_turn(openhands: AgentHome):
    contents = openhands.read_case("thinking")

    assert contents.texts("assistant_message") == [
        "I run the tests.",
        "The test passes now.",
        "The docs are fine.",
    ]
    assert [unit.stop_reason for unit in contents.units()[1:]] == ["end_turn"] * 2


def test_thoughts_of_all_kinds_are_thinking(openhands: AgentHome):
    assert openhands.read_case("thinking").texts("thinking") == [
        "Let me see.",
        "The test expects 3.",
        "First, run them.",
        "I looked at the docs.",
    ]


def test_a_conversation_read_event_by_event_equals_one_read_at_once(
    openhands: AgentHome,
):
    case = FIXTURES / "openhands" / "subagent" / "home"
    files = sorted(path for path in case.rglob("*.json"))
    events = [path for path in files if path.parent.name == "events"]
    events.sort(key=lambda path: json.loads(path.read_text())["timestamp"])
    for path in [*(set(files) - set(events)), *events]:
        target = openhands.home / path.relative_to(case)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        contents = openhands.read()

    (child,) = contents.subagents
    assert contents.main.usage == Usage(54811, 138, 66)
    assert (child.usage, child.spawn_call_id) == (
        Usage(16034, 46, 22),
        "call_554ed835000226",
    )
    assert len(contents.texts("tool_use")) == 5
