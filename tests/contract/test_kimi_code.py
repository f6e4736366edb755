"""Test how Kimi Code's logs are decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import SessionKey, Usage
from leslied.model.source import Environment
from leslied.sessions.file_changes import find_file_changes
from leslied.sessions.turns import find_agent_mode, find_stop_reason
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["kimi-code"]
SESSION = "session_5e6f0000-0000-4000-8000-000000000009"
FOLDER = f"wd_app_0123456789ab/{SESSION}"
LOG = f"{FOLDER}/agents/main/wire.jsonl"
FILE = f".kimi-code/sessions/{LOG}"
METADATA = {"type": "metadata", "protocol_version": "1.5", "created_at": 1794909600000}


@pytest.fixture
def kimi(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_message(text: str, id_: str = "", **origin: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    message = {"role": "user", "content": content, "id": id_, "origin": origin}
    return {"type": "context.append_message", "message": message, "time": 1794909601000}


def make_event(kind: str, **fields: Any) -> dict[str, Any]:
    event = {"type": kind, "uuid": "u", **fields}
    return {
        "type": "context.append_loop_event",
        "event": event,
        "time": 1794909602000,
    }


# Roots


@pytest.mark.parametrize(
    ("moved", "path"),
    [("", "/home/dev/.kimi-code/sessions"), ("/data", "/data/sessions")],
)
def test_a_variable_moves_the_root(moved: str, path: str):
    environ = {"KIMI_CODE_HOME": moved}
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")

    (root,) = ADAPTER.roots(env, [])

    assert str(root.path) == path


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"kimi --session {SESSION}"


@pytest.mark.parametrize(
    ("path", "is_plan"),
    [
        (f"/home/dev/.kimi-code/sessions/{FOLDER}/agents/main/plans/a.md", True),
        ("/home/dev/app/plans/a.md", False),
    ],
)
def test_a_plan_is_in_the_folder_of_its_agent(path: str, is_plan: bool):  # noqa: FBT001
    assert ADAPTER.is_plan_file(path) is is_plan


# Authorship


def test_what_is_written_twice_is_recorded_once(kimi: AgentHome):
    contents = kimi.read_case("subagent")

    counts = {
        type_: len(contents.records(type_))
        for type_ in ("user_message", "assistant_message", "tool_use", "tool_result")
    }
    assert counts == {
        "user_message": 2,
        "assistant_message": 4,
        "tool_use": 6,
        "tool_result": 6,
    }


def test_every_user_message_has_its_origin(kimi: AgentHome):
    assert kimi.read_case("speech").user_messages() == [
        ("prompt", "What is in this picture?\n\n[image data]"),
        ("queued", "Only look, please."),
        ("shell", "! git status && true"),
        ("command", "/review the last commit"),
        ("command", "/ship:plan"),
        ("prompt", "Write a long text."),
        ("prompt", "Break it."),
        ("prompt", "Wait."),
    ]


def test_messages_of_the_client_are_not_prompts(kimi: AgentHome):
    notes = kimi.read_case("speech").notes("context")

    expected = {"date_change", "skill_activation", "stop_blocked", "cron_job"}
    assert expected <= set(notes)


def test_the_text_of_a_skill_is_attached_to_its_command(kimi: AgentHome):
    messages = kimi.read_case("speech").records("user_message")

    attached = [p.record.metadata.get("attached") for p in messages]
    assert "Review the diff of the last commit." in attached


def test_a_message_after_a_killed_turn_is_a_prompt(kimi: AgentHome):
    prompts = [{"type": "turn.prompt", "promptId": id_, "time": 1} for id_ in "ab"]
    messages = [make_message(id_, id_, kind="user") for id_ in "ab"]
    kimi.write(FILE, METADATA, prompts[0], messages[0], prompts[1], messages[1])

    assert kimi.read().user_messages() == [("prompt", "a"), ("prompt", "b")]


def test_shell_output_without_tags_keeps_its_text(kimi: AgentHome):
    line = make_message("x &lt; y", kind="shell_command", phase="output")

    (record,) = kimi.decode(LOG, line).records

    assert (record.content, record.tool_name) == ("x < y", "shell")


# Turns


def test_turns_end_with_their_reasons(kimi: AgentHome):
    contents = kimi.read_case("speech")

    reasons = [
        find_stop_reason([p for p in contents.records() if p.unit == unit])
        for unit in range(1, 7)
    ]
    ended = ["end_turn", "end_turn", "end_turn"]
    assert reasons == [*ended, "max_tokens", "error", "cancelled"]


def test_plan_mode_is_part_of_its_unit(kimi: AgentHome):
    records = kimi.read_case("speech").records()

    assert find_agent_mode([p for p in records if p.unit == 2]) == "plan"


def test_undone_prompts_are_rewound(kimi: AgentHome):
    contents = kimi.read_case("undo")

    rewound = [session.rewound for session in contents.sessions]
    assert (range(2, 4),) in rewound


# Sessions


def test_the_state_file_names_the_folder(kimi: AgentHome):
    beside = '{"id":"s","version":2,"cwd":"/home/dev/\\"app","agents":{'

    decoded = kimi.decode(LOG, METADATA, {"beside": beside})

    assert decoded.cwd == '/home/dev/"app'
    assert decoded.state["beside"] == '"cwd":"/home/dev/\\"app"'


def test_without_a_state_file_the_profile_names_the_folder(kimi: AgentHome):
    sessions = kimi.read_case("undo").sessions

    assert {session.cwd for session in sessions} == {"/home/dev/app"}


def test_the_state_file_has_the_title(kimi: AgentHome):
    assert kimi.read_case("speech").main.title == "A cat in a picture"


def test_a_fork_names_its_parent(kimi: AgentHome):
    contents = kimi.read_case("undo")

    parents = [
        placed.record.metadata["forked_from"][-1]
        for session in contents.sessions
        for placed in contents.records("system_event", session)
        if placed.record.metadata.get("forked_from")
    ]
    assert parents == ["2"]


# Subagents


def test_a_subagent_is_linked_to_the_call_that_started_it(kimi: AgentHome):
    contents = kimi.read_case("subagent")

    (child,) = contents.subagents
    assert (child.spawn_call_id, child.agent_type, child.description) == (
        "call_554ed835000017",
        "coder",
        "count files",
    )
    assert contents.texts("assistant_message", child) == ["Worker result: counted."]
    assert contents.texts("user_message", child) == ["Count files [[x-kimi-w]]"]


def test_a_subagent_of_a_subagent_belongs_to_the_same_session(kimi: AgentHome):
    children = kimi.read_case("nested-agents").subagents

    assert sorted((c.subagent_id, c.spawn_call_id) for c in children) == [
        ("agent-0", "c1"),
        ("agent-1", "c2"),
    ]


def test_the_folder_of_a_log_names_its_agent(kimi: AgentHome):
    path = LOG.replace("main", "agent-7")

    (record,) = kimi.decode(path, METADATA).records

    assert record.session == SessionKey("kimi-code", SESSION, "subagent:agent-7")


# Tools


def test_writes_and_edits_are_file_changes(kimi: AgentHome):
    unit = next(u for u in kimi.read_case("subagent").units() if u.number)
    folder = "/home/dev/px/run/kimicode/work"

    changes = find_file_changes(unit.entries, folder, "kimi-code")

    assert [(change.kind, change.path) for change in changes] == [
        ("write", f"{folder}/n.txt"),
        ("edit", f"{folder}/n.txt"),
        ("todos", ""),
    ]


def test_a_failed_command_has_its_exit_code(kimi: AgentHome):
    result = {"output": "err\nCommand failed with exit code: 3.", "isError": True}

    (record,) = kimi.decode(LOG, make_event("tool.result", result=result)).records

    assert record.content == "Exit code 3\nerr"
    assert record.metadata == {"is_error": True, "exit_code": 3}


def test_the_report_of_a_subagent_is_its_answer(kimi: AgentHome):
    results = kimi.read_case("subagent").records("tool_result")

    assert results[-1].record.metadata == {"report": "Worker result: counted."}


# Tokens


def test_tokens_count_once(kimi: AgentHome):
    contents = kimi.read_case("subagent")

    assert contents.main.usage == Usage(170782, 184, 88)
    assert [child.usage for child in contents.subagents] == [Usage(33314, 46, 22)]


def test_tokens_of_a_compaction_count(kimi: AgentHome):
    assert kimi.read_case("speech").main.usage == Usage(720, 65, 12, 9)


def test_the_model_is_that_of_the_last_request(kimi: AgentHome):
    usage = {"type": "usage.record", "model": "alias", "usage": {"output": 1}}

    decoded = [
        kimi.decode(LOG, usage, state).records[0].model
        for state in ({"model": "real", "cwd": ""}, {"cwd": ""})
    ]
    assert decoded == ["real", "alias"]


@pytest.mark.parametrize("kind", ["context.later", "turn.later", "subagent.spawned"])
def test_an_unknown_line_keeps_its_text(kimi: AgentHome, kind: str):
    (record,) = kimi.decode(LOG, {"type": kind}).records

    assert record.type == "unknown"
    assert record.metadata == {"line_type": kind}
