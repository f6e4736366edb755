"""Test how Grok's logs are decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import SessionKey, Usage
from leslied.model.source import Environment
from leslied.sessions.file_changes import find_file_changes
from leslied.sessions.turns import find_stop_reason
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["grok"]
SESSION = "019a90c0-0000-7000-8000-000000000009"
FOLDER = f"%2Fhome%2Fdev%2Fapp/{SESSION}"
LOG = f"{FOLDER}/updates.jsonl"
FILE = f".grok/sessions/{LOG}"


@pytest.fixture
def grok(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_line(kind: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    meta = {"eventId": f"{SESSION}-{number}", "agentTimestampMs": 1794909600000}
    update = {"sessionUpdate": kind, **fields}
    params = {"sessionId": SESSION, "update": update, "_meta": meta}
    return {"timestamp": 1794909600, "method": "session/update", "params": params}


def make_prompt(text: str, number: int, **meta: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return make_line("user_message_chunk", number, content=content, _meta=meta)


# Roots


@pytest.mark.parametrize(
    ("moved", "path"), [("", "/home/dev/.grok/sessions"), ("/data", "/data/sessions")]
)
def test_a_variable_moves_the_root(moved: str, path: str):
    environ = {"GROK_HOME": moved}
    env = Environment(home=Path("/home/dev"), environ=environ, platform="linux")

    (root,) = ADAPTER.roots(env, [])

    assert str(root.path) == path


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"grok --resume {SESSION}"


@pytest.mark.parametrize(
    ("path", "is_plan"),
    [
        (f"/home/dev/.grok/sessions/{FOLDER}/plan.md", True),
        ("/home/dev/app/plan.md", False),
    ],
)
def test_a_plan_is_in_the_folder_of_its_session(path: str, is_plan: bool):  # noqa: FBT001
    assert ADAPTER.is_plan_file(path) is is_plan


# Authorship


def test_every_user_message_has_its_origin(grok: AgentHome):
    assert grok.read_case("speech").user_messages() == [
        ("prompt", "What is in this picture?"),
        ("queued", "Only look, please."),
        ("shell", "! git status"),
        ("command", "/compact"),
        ("prompt", "Start the server."),
        ("prompt", "Break it."),
        ("prompt", "Wait."),
    ]


def test_pictures_and_messages_of_the_client_are_context(grok: AgentHome):
    notes = grok.read_case("speech").notes("context")

    assert (notes.count("attached"), notes.count("injected")) == (2, 1)


def test_a_reminder_is_not_a_prompt(grok: AgentHome):
    grok.write(FILE, make_prompt("<system-reminder>\nx", 1, promptIndex=0))

    assert grok.read().main.units == 0


def test_the_second_text_of_a_prompt_starts_no_unit(grok: AgentHome):
    parts = (make_prompt(text, n, promptIndex=0) for n, text in enumerate("ab"))
    grok.write(FILE, *parts)

    assert grok.read().user_messages() == [("prompt", "a"), ("queued", "b")]


# Turns


def test_a_resumed_session_counts_its_events_from_the_start(grok: AgentHome):
    contents = grok.read_case("subagent")

    assert [text[:5] for _, text in contents.user_messages()] == ["do it", "go on"]
    assert contents.main.units == 2


def test_turns_end_with_their_reasons(grok: AgentHome):
    contents = grok.read_case("speech")

    reasons = [
        find_stop_reason([p for p in contents.records() if p.unit == unit])
        for unit in range(1, 5)
    ]
    assert reasons == ["end_turn", "end_turn", "error", "cancelled"]


def test_a_rewind_takes_prompts_back_by_their_numbers(grok: AgentHome):
    contents = grok.read_case("rewind")

    assert contents.main.rewound == (range(2, 3),)
    assert contents.main.units == 3


# Sessions


def test_the_path_names_the_folder_of_a_session(grok: AgentHome):
    assert grok.decode(LOG, make_line("plan")).cwd == "/home/dev/app"


def test_the_summary_names_a_folder_that_is_too_long_for_the_path(grok: AgentHome):
    sessions = grok.read_case("fork").sessions

    assert "/home/dev/a/long/path" in [session.cwd for session in sessions]


def test_the_summary_has_the_title(grok: AgentHome):
    assert grok.read_case("speech").main.title == "A cat in a picture"


def test_a_fork_names_its_parent_and_does_not_count_tokens_again(grok: AgentHome):
    contents = grok.read_case("fork")

    forked = [
        (session.usage.input_tokens, placed.record.metadata["forked_from"][-1])
        for session in contents.sessions
        for placed in contents.records("system_event", session)
        if placed.record.metadata.get("forked_from")
    ]
    assert forked == [(340, "1")]


# Subagents


def test_a_subagent_is_linked_to_the_call_that_started_it(grok: AgentHome):
    contents = grok.read_case("subagent")

    (child,) = contents.subagents
    assert (child.spawn_call_id, child.description) == (
        "call_554ed835000059",
        "count files",
    )
    assert contents.texts("assistant_message", child) == ["Worker result: counted."]


def test_subagents_at_once_are_linked_by_their_descriptions(grok: AgentHome):
    children = grok.read_case("background-agents").subagents

    assert sorted((c.spawn_call_id, c.description) for c in children) == [
        ("s1", "read code"),
        ("s2", "read docs"),
    ]


def test_the_folder_of_its_session_says_that_a_log_is_a_subagents(grok: AgentHome):
    link = '"parent_session_id": "p", "subagent_type": "x", "prompt": "y'

    (opened, *_) = grok.decode(LOG, make_line("plan"), {"beside": link}).records

    assert opened.session == SessionKey("grok", "p", f"subagent:{SESSION}")


# Tools


def test_writes_and_edits_are_file_changes(grok: AgentHome):
    unit = next(u for u in grok.read_case("subagent").units() if u.number)
    folder = "/home/dev/px/run/grok/work"

    changes = find_file_changes(unit.entries, folder, "grok")

    assert [(change.kind, change.path) for change in changes] == [
        ("write", f"{folder}/n.txt"),
        ("edit", f"{folder}/n.txt"),
        ("todos", ""),
    ]


def test_a_failed_command_has_its_exit_code(grok: AgentHome):
    results = grok.read_case("subagent").records("tool_result")

    codes = [p.record.metadata.get("exit_code") for p in results]
    assert codes == [None, None, None, None, 1, None]


def test_the_complete_output_of_a_command_is_in_a_file(grok: AgentHome):
    (result, _) = grok.read_case("speech").records("tool_result")

    assert result.record.spilled == "first part\nsecond part\n"


@pytest.mark.parametrize("name", ["", "/", "a/.hidden", None])
def test_a_hostile_name_of_an_output_is_not_read(grok: AgentHome, name: str | None):
    output = {"truncated": True, "output_file": name}
    line = make_line("tool_call_update", status="completed", rawOutput=output)
    grok.write(FILE, line)

    (result,) = grok.read().records("tool_result")
    assert result.record.spilled == ""


def test_arguments_that_come_later_belong_to_the_call(grok: AgentHome):
    calls = grok.read_case("speech").records("tool_use")

    assert calls[0].record.tool_input == '{"command":"make test"}'
    assert len(calls) == 2


# Tokens


def test_tokens_of_subagents_count_once(grok: AgentHome):
    contents = grok.read_case("subagent")

    assert contents.main.usage == Usage(133562, 230, 110)
    assert [child.usage for child in contents.subagents] == [Usage()]


def test_input_tokens_exclude_those_of_the_cache(grok: AgentHome):
    assert grok.read_case("speech").main.usage == Usage(100, 10, 40, 20)


def test_an_old_log_without_event_ids_has_tokens(grok: AgentHome):
    usage = {"inputTokens": 5, "outputTokens": 2}
    line = make_line("turn_completed", stop_reason="end_turn", usage=usage)
    del line["params"]["_meta"]
    grok.write(FILE, line)

    assert grok.read().main.usage == Usage(5, 2)


def test_an_unknown_update_names_its_type(grok: AgentHome):
    (record,) = grok.decode(LOG, make_line("later"), {"cwd": ""}).records

    assert record.type == "unknown"
    assert record.metadata == {"update_type": "later"}
