"""Test how Droid's logs are decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.model.source import Environment
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["droid"]
SESSION = "11111111-2222-4333-8444-555555555555"
FILE = f".factory/sessions/-home-dev-app/{SESSION}.jsonl"
SETTINGS = f".factory/sessions/-home-dev-app/{SESSION}.settings.json"
LOG = f"-home-dev-app/{SESSION}.jsonl"
START = {"type": "session_start", "id": SESSION, "cwd": "/home/dev/app"}


@pytest.fixture
def droid(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_message(number: int, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"{number:08}",
        "timestamp": f"2026-11-17T10:00:{number:02}.000Z",
        "message": {"role": role, "content": content, **fields},
    }


def make_settings(output_tokens: int) -> str:
    tokens = {"inputTokens": 100, "outputTokens": output_tokens}
    return json.dumps({"model": "m", "tokenUsage": tokens})


# Roots


@pytest.mark.parametrize("moved", ["", "/data"])
def test_an_environment_variable_moves_the_root(moved: str):
    environ = {"FACTORY_HOME_OVERRIDE": moved}
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")

    (root,) = ADAPTER.roots(env, [])

    assert str(root.path) == f"{moved or '/home/dev'}/.factory/sessions"


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"droid --resume {SESSION}"


# Authorship


def test_every_user_message_has_its_origin(droid: AgentHome):
    assert droid.read_case("speech").user_messages() == [
        ("prompt", "What is in this picture?\n\n[image image/png, 9 B]"),
        ("prompt", "Run it."),
        ("prompt", "Again."),
    ]


@pytest.mark.parametrize(
    ("case", "kind", "note"),
    [
        ("hello", "context", "system_reminder"),
        ("speech", "context", "system_reminder"),
        ("speech", "notice", "UserPromptSubmit"),
        ("speech", "notice", "user_only"),
        ("subagent", "notice", "llm_only"),
    ],
)
def test_text_that_the_client_wrote_is_not_a_prompt(
    droid: AgentHome, case: str, kind: str, note: str
):
    assert note in droid.read_case(case).notes(kind)


def test_a_finished_task_in_the_background_is_a_notification(droid: AgentHome):
    events = droid.read_case("subagent").records("system_event")

    (facts,) = [
        p.record.metadata for p in events if "notification" in p.record.metadata
    ]
    assert facts["notification"] == "Background task completed: count files"
    assert facts["report"] == "Worker result: counted."


def test_a_prompt_in_spec_mode_is_planned(droid: AgentHome):
    (unit, *_) = [u for u in droid.read_case("speech").units() if u.number]

    assert unit.agent_mode == "plan"


# Turns


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        ("hello", ["end_turn"]),
        ("resume", ["end_turn", "end_turn"]),
        ("error", ["error"]),
        ("speech", ["end_turn", "cancelled", "error"]),
    ],
)
def test_a_turn_has_a_stop_reason(droid: AgentHome, case: str, reasons: list[str]):
    units = [unit for unit in droid.read_case(case).units() if unit.number]

    assert [unit.stop_reason for unit in units] == reasons


def test_a_turn_has_not_ended_before_its_outcome(droid: AgentHome):
    answer = make_message(2, "assistant", [{"type": "text", "text": "Done."}])
    outcome = {"type": "agent_turn_outcome", "turnId": "1", "reason": "completed"}
    droid.write(FILE, START, make_message(1, "user", "Go."), answer)

    had_ended = droid.read().main.has_turn_ended
    droid.write(FILE, outcome)

    assert not had_ended
    assert droid.read().main.has_turn_ended


def test_a_failed_turn_has_one_error(droid: AgentHome):
    (error,) = droid.read_case("error").texts("error")

    assert error.startswith('BYOK Error: 400 {"type":"error"')


# Tools


def test_a_failed_command_is_an_error_with_its_exit_code(droid: AgentHome):
    *_, failed = droid.read_case("tools").records("tool_result")

    assert failed.record.metadata == {"is_error": True, "exit_code": 2}
    assert failed.record.content.startswith("Exit code 2\nls: cannot access")
    assert "Process exited" not in failed.record.content


def test_writes_edits_and_patches_are_file_changes(droid: AgentHome):
    (unit,) = [u for u in droid.read_case("tools").units() if u.number]

    changes = find_file_changes(unit.entries, "/home/dev/app", "droid")

    assert [(change.kind, change.path) for change in changes] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


def test_the_result_of_an_edit_has_a_short_report(droid: AgentHome):
    results = droid.read_case("tools").records("tool_result")

    reports = [p.record.metadata.get("report") for p in results]
    assert reports == [None, "/home/dev/app/n.txt", "/home/dev/app/n.txt +1 -1", None]


# Tokens


def test_tokens_equal_those_that_the_model_sent(droid: AgentHome):
    # The scripted model reported 11 cached and 7 written tokens with each of its five
    # answers.
    assert droid.read_case("tools").main.usage == Usage(52269, 205, 55, 35)


def test_tokens_of_growing_settings_count_once(droid: AgentHome):
    droid.write(FILE, START, make_message(1, "user", "Go."))
    droid.write(SETTINGS, make_settings(10))
    droid.read()
    (droid.home / SETTINGS).write_text(make_settings(25))

    contents = droid.read()

    assert contents.main.usage == Usage(100, 25)
    assert len(contents.records("token_usage")) == 1


def test_tokens_of_a_subagent_are_its_own(droid: AgentHome):
    contents = droid.read_case("subagent")

    (child,) = contents.subagents
    assert child.usage == Usage(17535, 64, 22, 14)
    assert contents.main.usage == Usage(33530, 82, 33, 21)


def test_settings_without_a_log_create_no_session(droid: AgentHome):
    assert len(droid.read_case("speech").sessions) == 1


# Subagents


def test_a_subagent_is_linked_to_its_call(droid: AgentHome):
    contents = droid.read_case("subagent")

    (child,) = contents.subagents
    assert child.spawn_call_id == "toolu_b0e5da71000001"
    assert (child.agent_type, child.description) == ("worker", "count files")
    assert [len(unit.subagents) for unit in contents.units() if unit.number] == [1]


def test_the_task_of_a_subagent_has_no_instructions_of_the_client(droid: AgentHome):
    contents = droid.read_case("subagent")

    (child,) = contents.subagents
    assert contents.texts("user_message", child) == [
        "Count files [[x-dw]] [cwd=/home/dev/app]"
    ]


# Sessions


def test_a_resumed_session_has_one_unit_for_each_prompt(droid: AgentHome):
    assert droid.read_case("resume").main.units == 2


def test_a_fork_shares_the_entries_of_its_parent(droid: AgentHome):
    contents = droid.read_case("fork")

    parent, fork = sorted(contents.sessions, key=lambda session: session.units)
    ids = [{p.entry_id for p in contents.records("", s)} for s in (parent, fork)]
    assert len(ids[0] & ids[1]) == 6
    assert fork.usage == Usage(11102, 12, 11, 7)


def test_a_session_has_folder_model_title_and_thoughts(droid: AgentHome):
    main = droid.read_case("speech").main

    assert (main.cwd, main.model) == ("/home/dev/app", "claude-opus-4-5")
    assert main.title == "Mend the mill"


def test_a_generated_title_replaces_the_prompt(droid: AgentHome):
    decoded = droid.decode(LOG, {**START, "title": "Go.", "sessionTitle": "A mill"})

    (title,) = [r for r in decoded.records if r.metadata["kind"] == "title"]
    assert (title.content, title.metadata["title_kind"]) == ("A mill", "ai")


def test_the_beginning_of_the_prompt_is_not_a_title(droid: AgentHome):
    decoded = droid.decode(LOG, {**START, "title": "Go."})

    assert [r.metadata["kind"] for r in decoded.records] == ["opened"]


def test_settings_belong_to_the_log_beside_them(droid: AgentHome):
    entry = droid.decode(f"-home-dev-app/{SESSION}.settings.json", {"tokenUsage": {}})

    assert entry.noise == "settings"
