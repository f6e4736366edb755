"""Test how Pi's logs are decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.model.source import Environment
from leslied.sessions.file_changes import find_file_changes
from leslied.sessions.turns import find_stop_reason
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["pi"]
SESSION = "019a90c0-0000-7000-8000-000000000009"
LOG = f"--home-dev-app--/2026-11-17T10-00-00-000Z_{SESSION}.jsonl"
FILE = f".pi/agent/sessions/{LOG}"


@pytest.fixture
def pi(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_message(number: int, role: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": f"{number - 1:08x}",
        "timestamp": f"2026-11-17T10:00:{number:02}.000Z",
        "message": {"role": role, **fields},
    }


def make_answer(number: int, reason: str = "stop", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": "Answer."}]
    return make_message(
        number, "assistant", **{"content": content, "stopReason": reason, **fields}
    )


def list_root_paths(home: Path, *configured: Path, **environ: str) -> list[str]:
    env = Environment(home=home, environ=environ, platform="linux")
    return [str(root.path) for root in ADAPTER.roots(env, configured)]


# Roots


@pytest.mark.parametrize(
    ("moved", "path"),
    [
        ("", "/home/dev/.pi/agent/sessions"),
        ("/data/pi", "/data/pi/sessions"),
        ("~/pi", "/home/dev/pi/sessions"),
        ("~", "/home/dev/sessions"),
    ],
)
def test_a_variable_moves_the_root(moved: str, path: str):
    assert list_root_paths(Path("/home/dev"), PI_CODING_AGENT_DIR=moved) == [path]


def test_a_configured_directory_replaces_the_default(tmp_path: Path):
    assert list_root_paths(tmp_path, Path("/a")) == ["/a"]


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command(SESSION) == f"pi --session {SESSION}"


# Authorship


def test_every_user_message_has_its_origin(pi: AgentHome):
    assert pi.read_case("speech").user_messages() == [
        ("shell", "! git status"),
        ("shell", "! test -f x"),
        ("prompt", "What is in this picture?\n\n[image image/png, 9 B]"),
        ("queued", "Only look, please."),
        ("prompt", "Follow this plan."),
        ("command", "/skill:review the last commit"),
        ("prompt", "Search the web."),
    ]


def test_the_text_of_a_file_and_of_a_skill_is_attached_to_the_message(pi: AgentHome):
    messages = pi.read_case("speech").records("user_message")

    attached = [p.record.metadata.get("attached", "") for p in messages]
    assert [text.splitlines()[-1:] for text in attached if text] == [
        ["</file>"],
        ["Review the diff."],
    ]


@pytest.mark.parametrize(
    ("case", "note"), [("hello", "system_prompt"), ("speech", "todo-list")]
)
def test_the_system_prompt_and_an_extension_are_context(
    pi: AgentHome, case: str, note: str
):
    assert note in pi.read_case(case).notes("context")


def test_a_prompt_after_a_killed_tool_starts_a_unit(pi: AgentHome):
    result = make_message(3, "toolResult", toolCallId="c", content="x")
    prompt = make_message(9, "user", content="Again.", timestamp=1794909609000)
    first = make_message(1, "user", content="Go.")
    pi.write(FILE, first, make_answer(2, "toolUse"), result, prompt)

    assert pi.read().user_messages() == [("prompt", "Go."), ("prompt", "Again.")]


# Turns


def test_only_the_last_answer_ends_the_turn(pi: AgentHome):
    contents = pi.read_case("tools")

    reasons = [
        p.record.metadata.get("stop_reason")
        for p in contents.records("assistant_message")
    ]
    assert reasons == [None, "end_turn"]
    assert contents.main.has_turn_ended


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        ("hello", ["end_turn"]),
        ("resume", ["end_turn", "end_turn"]),
        ("error", ["error"]),
        ("speech", ["end_turn", "cancelled", "max_tokens", "end_turn"]),
    ],
)
def test_a_turn_has_a_stop_reason(pi: AgentHome, case: str, reasons: list[str]):
    units = [unit for unit in pi.read_case(case).units() if unit.number]

    assert [find_stop_reason(unit.entries) for unit in units] == reasons


def test_a_turn_goes_on_while_a_failed_request_is_repeated(pi: AgentHome):
    failure = make_answer(2, "error", content=[], errorMessage="503")
    edit = {**make_message(3, ""), "type": "context_edit", "targetId": "00000002"}
    pi.write(FILE, make_message(1, "user", content="Go."), failure)

    had_ended = pi.read().main.has_turn_ended
    pi.write(FILE, edit)

    assert had_ended
    assert not pi.read().main.has_turn_ended


def test_another_edit_of_the_context_is_noise(pi: AgentHome):
    edit = {**make_message(3, ""), "type": "context_edit", "targetId": "00000002"}

    assert pi.decode(LOG, edit).noise == "context_edit"


def test_an_event_that_is_read_in_two_parts_is_stored_once(pi: AgentHome):
    pi.write(FILE, make_message(1, "user", content="Go."), '{"type":"message","id":"0')
    pi.read()
    whole = pi.home / FILE
    text = whole.read_text().rpartition("{")[0]
    whole.write_text(text)
    pi.write(FILE, make_answer(2))

    types = [p.record.type for p in pi.read().records()]

    assert types == ["user_message", "assistant_message"]


# Tools


def test_a_failed_command_is_an_error_with_its_exit_code(pi: AgentHome):
    *_, failed = pi.read_case("tools").records("tool_result")

    assert failed.record.content == "Exit code 1\nerr"
    assert failed.record.metadata == {"is_error": True, "exit_code": 1}


def test_writes_and_edits_are_file_changes(pi: AgentHome):
    (unit,) = [u for u in pi.read_case("tools").units() if u.number]

    changes = find_file_changes(unit.entries, "/home/dev/app", "pi")

    assert [(change.kind, change.path) for change in changes] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


# Tokens


def test_tokens_equal_those_that_the_model_sent(pi: AgentHome):
    # The scripted model counted 1497, 1650, 1737, 1833 and 1905 tokens of input, and
    # reported 11 cached and 7 written ones with each of its five answers.
    assert pi.read_case("tools").main.usage == Usage(8622, 171, 55, 35)


def test_a_fork_counts_only_its_own_tokens(pi: AgentHome):
    sessions = pi.read_case("fork").sessions

    assert sorted(session.usage.input_tokens for session in sessions) == [1953, 8622]


def test_tokens_without_an_answer_count(pi: AgentHome):
    records = pi.read_case("speech").records("token_usage")

    counts = [p.record.usage.input_tokens for p in records if p.record.usage]
    assert counts == [900, 7, 30, 50]


# Sessions


def test_a_resumed_session_is_one_session(pi: AgentHome):
    contents = pi.read_case("resume")

    assert (contents.main.units, contents.main.tool_calls) == (2, 4)


def test_a_session_has_folder_model_title_and_thoughts(pi: AgentHome):
    contents = pi.read_case("speech")

    main = contents.main
    assert (main.cwd, main.model) == ("/home/dev/app", "claude-sonnet-4-5")
    assert main.title == "Mill repair"
    assert contents.texts("thinking") == ["I look."]


def test_a_fork_names_the_session_that_it_copies(pi: AgentHome):
    header = {
        "type": "session",
        "id": SESSION,
        "parentSession": f"C:\\s\\x_{SESSION}.jsonl",
    }

    (record,) = pi.decode(LOG, header).records

    assert record.metadata == {"kind": "opened", "forked_from": SESSION}


def test_units_that_the_user_left_are_rewound(pi: AgentHome):
    main = pi.read_case("tree").main

    assert main.rewound == (range(2, 4),)
