"""Test how the tasks of Roo Code, Cline and Kilo in VS Code are decoded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from tests.support.agent_home import AgentHome

TASKS = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks"


@pytest.fixture
def roo(home: Path, tmp_path: Path, clock) -> AgentHome:
    adapter = load_adapters()["roo-code"]
    return AgentHome(adapter, home, tmp_path / "store.db", clock)


@pytest.fixture
def cline(home: Path, tmp_path: Path, clock) -> AgentHome:
    adapter = load_adapters()["cline-vscode"]
    return AgentHome(adapter, home, tmp_path / "store.db", clock)


def test_the_first_text_and_feedback_are_prompts(roo: AgentHome):
    assert roo.read_case("tools").user_messages() == [
        ("prompt", "write a note and test it\n\n[image 1]"),
        ("prompt", "add a test"),
    ]


def test_the_folder_is_in_the_metadata_or_in_the_request(roo: AgentHome):
    assert roo.read_case("tools").main.cwd == "/home/dev/app"
    assert "/home/dev/lib" in {s.cwd for s in roo.read_case("odd-messages").sessions}


def test_tokens_of_all_requests_are_added(roo: AgentHome):
    assert roo.read_case("tools").main.usage == Usage(19, 124, 7700, 1000)


def test_outputs_that_follow_a_command_are_its_result(roo: AgentHome):
    results = [p.record for p in roo.read_case("tools").records("tool_result")]

    assert [(r.tool_name, r.content) for r in results] == [
        ("execute_command", "no rule\nto make target test"),
        ("searchFiles", "note.md:1: hello"),
    ]


def test_a_turn_ends_with_a_completion_or_an_interruption(roo: AgentHome):
    reasons = [unit.stop_reason for unit in roo.read_case("tools").units()[1:]]

    assert reasons == ["end_turn", "cancelled"]


def test_a_question_ends_the_turn_and_shows_its_choices(roo: AgentHome):
    answers = roo.read_case("odd-messages").texts("assistant_message")

    assert answers[0] == "Which one?\n\n- a\n- b"


def test_a_task_that_is_rewritten_as_it_grows_is_read_once(roo: AgentHome, home: Path):
    path = home / TASKS / "t1" / "ui_messages.json"
    path.parent.mkdir(parents=True)
    messages = [
        {"ts": 1767225600000 + n, "type": "say", "say": kind, "text": f"{kind} {n}"}
        for n, kind in enumerate(["text", "text", "text", "user_feedback", "text"])
    ]
    for count in range(1, len(messages) + 1):
        path.write_text(json.dumps(messages[:count]))
        contents = roo.read()

    assert contents.texts("user_message") == ["text 0", "user_feedback 3"]
    assert contents.texts("assistant_message") == ["text 1", "text 2", "text 4"]


def test_cline_names_the_model_and_marks_commands(cline: AgentHome):
    contents = cline.read_case("tools")

    assert contents.main.model == "claude-sonnet-4-5"
    inputs = [p.record.tool_input for p in contents.records("tool_use")]
    assert '{"command":"rm -rf build"}' in inputs


def test_tokens_of_clines_subagents_count(cline: AgentHome):
    assert cline.read_case("tools").main.usage == Usage(42, 86, 3400)
