"""Test how Cline's documents are decoded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied import tail
from leslied.agents import load_adapters
from leslied.errors import DecodeError
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome
from tests.support.golden import make_environment

ADAPTER = load_adapters()["cline"]
SESSION = "1794876958815_385te"
FOLDER = f".cline/data/sessions/{SESSION}"
MESSAGES = f"{SESSION}.messages.json"


@pytest.fixture
def cline(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_turn_has_prompt_thinking_and_answer(cline: AgentHome):
    contents = cline.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("thinking") == ["The user greets me."]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(cline: AgentHome):
    main = cline.read_case("hello").main

    assert (main.cwd, main.model) == ("/home/dev/app", "scripted-1")


def test_cached_tokens_are_not_counted_twice(cline: AgentHome):
    contents = cline.read_case("subagent")

    (child,) = contents.subagents
    # The manifest has 34507 tokens in with 66 cached ones, and 138 out.
    assert contents.main.usage == Usage(34507 - 66, 138, 66)
    assert child.usage == Usage(4539 - 22, 46, 22)


def test_a_subagent_hangs_below_its_call(cline: AgentHome):
    contents = cline.read_case("subagent")

    (unit,) = [unit for unit in contents.units() if unit.number]
    (child,) = unit.subagents
    assert child.summary.spawn_call_id == "call_554ed835000123"
    assert (child.tool_calls, child.stop_reason) == (1, "end_turn")


def test_a_subagent_of_a_subagent_names_its_parent(cline: AgentHome):
    contents = cline.read_case("speech")

    (child,) = [child for child in contents.subagents if child.parent_agent]
    assert child.parent_agent == "agent_1794900001000_aaaaaa"


def test_results_are_the_text_that_the_tools_report(cline: AgentHome):
    texts = cline.read_case("subagent").texts("tool_result")

    assert texts[1] == "File created successfully at: /home/dev/app/n.txt"
    assert texts[3:] == ["Exit code 1\n[stderr]\nerr\n", "Worker result: counted."]


def test_a_failed_command_has_its_exit_code(cline: AgentHome):
    results = cline.read_case("subagent").records("tool_result")

    codes = [placed.record.metadata.get("exit_code") for placed in results]
    assert codes == [None, None, None, 1, None]


def test_written_and_edited_files_are_found(cline: AgentHome):
    (unit,) = [unit for unit in cline.read_case("subagent").units() if unit.number]

    changes = find_file_changes(unit.entries, "/home/dev/app", "chat-1")
    assert [(change.kind, change.path) for change in changes] == [
        ("edit", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


def test_a_message_is_stored_once_although_the_document_is_rewritten(cline: AgentHome):
    first = cline.read_case("subagent")
    path = cline.home / FOLDER / MESSAGES
    document = json.loads(path.read_text())
    document["messages"].append(
        {"id": "new", "role": "user", "content": "go on", "ts": 1794876970000}
    )
    path.write_text(json.dumps(document))

    second = cline.read()

    assert len(second.records()) == len(first.records()) + 1
    assert second.user_messages()[-1] == ("prompt", "go on")


def test_a_message_that_changes_has_a_new_version(cline: AgentHome):
    cline.read_case("hello")
    (path,) = cline.home.rglob("*.messages.json")
    text = path.read_text()
    path.write_text(text.replace("Hello from", "Good day from"))

    contents = cline.read()

    assert contents.texts("assistant_message") == ["Good day from the scripted model."]
    # The tokens of both versions count once.
    assert contents.main.usage == Usage(5438, 23, 11)


def test_results_with_new_message_ids_are_not_stored_again(cline: AgentHome):
    """A client that resumes a session gives results new ids."""
    first = cline.read_case("subagent")
    path = cline.home / FOLDER / MESSAGES
    path.write_text(path.read_text().replace("msg_i_mG_VoN", "msg_other"))

    assert len(cline.read().records()) == len(first.records())


def test_a_torn_document_is_read_when_it_is_complete(cline: AgentHome):
    cline.read_case("hello")
    (path,) = cline.home.rglob("*.messages.json")
    text = path.read_text()
    path.write_text(text[:500])
    assert len(cline.read().user_messages()) == 1
    path.write_text(text.replace("say hi", "say it"))

    assert cline.read().user_messages()[0][1].startswith("say it")


def test_only_people_write_prompts(cline: AgentHome):
    contents = cline.read_case("speech")

    assert [origin for origin, _ in contents.user_messages()] == [
        "command",
        "prompt",
        "prompt",
    ]
    assert contents.notes("context") == ["continuation", "recovery_notice"]


def test_a_prompt_in_plan_mode_starts_a_plan(cline: AgentHome):
    units = cline.read_case("speech").units()

    modes = [unit.agent_mode for unit in units if unit.number]
    assert modes == ["agent", "plan", "agent"]


def test_a_title_that_a_person_gave_replaces_the_prompt(cline: AgentHome):
    assert cline.read_case("speech").main.title == "Failing tests"


def test_a_document_without_messages_is_rejected(cline: AgentHome):
    with pytest.raises(DecodeError, match="without messages"):
        cline.decode(f"{SESSION}/{MESSAGES}", {"version": 1})


def test_the_main_log_of_a_subagent_is_that_of_the_session(cline: AgentHome):
    cline.read_case("subagent")
    (root,) = ADAPTER.roots(make_environment(cline.home), [])
    sources = tail.discover("cline", [root]).sources
    main_path = cline.home / FOLDER / MESSAGES
    assert {ADAPTER.find_main_log(source) for source in sources} == {None, main_path}
