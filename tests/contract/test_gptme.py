"""Test how gptme's conversations are decoded."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from leslied.sessions.turns import find_stop_reason
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["gptme"]
FOLDER = ".local/share/gptme/logs/2026-11-17-small-red-bird"
FILE = f"{FOLDER}/conversation.jsonl"


@pytest.fixture
def gptme(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_message(number: int, role: str, content: str, **fields: Any) -> dict[str, Any]:
    when = f"2026-11-17T10:00:{number:02}.000100"
    return {"role": role, "content": content, "timestamp": when, **fields}


def rewrite(gptme: AgentHome, *messages: dict[str, Any]) -> None:
    """Replace the whole file, as the client does for every message."""
    path = gptme.home / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))


# Sessions


def test_the_settings_name_the_folder_and_the_title(gptme: AgentHome):
    session = gptme.read_case("formats").main

    assert (session.cwd, session.title) == ("/home/dev/app", "Fix the greeting")


def test_without_settings_the_prompt_names_the_folder(gptme: AgentHome):
    assert gptme.read_case("subagent").main.cwd == "/home/dev/app"


@pytest.mark.parametrize("workspace", ["@log", "relative"])
def test_a_workspace_that_is_not_a_path_is_no_folder(gptme: AgentHome, workspace: str):
    gptme.write(f"{FOLDER}/config.toml", f'[chat]\nworkspace = "{workspace}"\n')
    rewrite(gptme, make_message(1, "user", "Go."))

    assert gptme.read().main.cwd == ""


@pytest.mark.parametrize(("workspace", "folder"), [("~/app", "app"), ("~", "")])
def test_a_workspace_in_the_home_directory_is_written_with_a_tilde(
    gptme: AgentHome, workspace: str, folder: str
):
    gptme.write(f"{FOLDER}/config.toml", f'[chat]\nworkspace = "{workspace}"\n')
    rewrite(gptme, make_message(1, "user", "Go."))

    assert gptme.read().main.cwd == str(gptme.home / folder)


def test_settings_that_are_not_toml_do_not_affect_the_messages(gptme: AgentHome):
    gptme.write(f"{FOLDER}/config.toml", "[chat\n")
    rewrite(gptme, make_message(1, "user", "Go."))

    contents = gptme.read()
    assert contents.user_messages() == [("prompt", "Go.")]


def test_a_time_without_a_zone_is_local(
    gptme: AgentHome, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        rewrite(gptme, make_message(1, "user", "Go."))
        (prompt,) = gptme.read().records("user_message")
    finally:
        monkeypatch.undo()
        time.tzset()

    expected = datetime(2026, 11, 17, 1, 0, 1, 100, tzinfo=UTC)
    assert prompt.record.created_at == expected


# Authorship


def test_what_the_client_says_for_the_user_is_no_prompt(gptme: AgentHome):
    contents = gptme.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.notes("context").count("auto_reply") == 2


def test_a_command_is_no_prompt(gptme: AgentHome):
    assert gptme.read_case("formats").user_messages() == [
        ("prompt", "Fix the greeting."),
        ("command", "/tools"),
        ("prompt", "Now wait."),
        ("prompt", "Use what you like."),
    ]


def test_a_path_is_a_prompt(gptme: AgentHome):
    rewrite(gptme, make_message(1, "user", "/home/dev/x.py is wrong"))

    assert gptme.read().user_messages() == [("prompt", "/home/dev/x.py is wrong")]


def test_a_subagent_is_a_conversation_that_starts_with_a_task(gptme: AgentHome):
    contents = gptme.read_case("subagent")

    assert contents.user_messages() == [("task", "Count the files.")]


# Calls and results


def test_every_call_has_its_result(gptme: AgentHome):
    contents = gptme.read_case("tools")
    calls = [p.record.tool_call_id for p in contents.records("tool_use")]
    results = [p.record.tool_call_id for p in contents.records("tool_result")]

    assert [p.record.tool_name for p in contents.records("tool_use")] == [
        "shell",
        "save",
        "complete",
    ]
    assert calls == results


def test_all_three_formats_are_calls(gptme: AgentHome):
    contents = gptme.read_case("formats")

    names = [p.record.tool_name for p in contents.records("tool_use")]
    assert names == ["shell", "patch", "save", "ipython", "append", "shell"]


def test_a_failed_command_has_its_exit_code(gptme: AgentHome):
    result = gptme.read_case("formats").records("tool_result")[0].record

    assert result.metadata["exit_code"] == 1
    assert result.metadata["report"].startswith("Exit code 1\ndef hello():\n")


def test_files_that_the_agent_changes_are_listed(gptme: AgentHome):
    unit = gptme.read_case("formats").units()[1]

    changes = find_file_changes(unit.entries, "/home/dev/app", "chat-1")
    assert [(c.kind, c.path) for c in changes] == [
        ("edit", "/home/dev/app/hello.py"),
        ("write", "/home/dev/app/docs/a.md"),
    ]


def test_a_notice_of_the_client_is_no_result(gptme: AgentHome):
    rewrite(
        gptme,
        make_message(1, "user", "Go."),
        make_message(2, "assistant", "```shell\nls\n```"),
        make_message(3, "system", "<time>10:00</time>"),
        make_message(4, "system", "Hidden.", hide=True),
        make_message(5, "system", "Ran command: `ls`\n\n`a`\n\n"),
        make_message(6, "system", "Another notice."),
    )

    contents = gptme.read()
    (result,) = contents.records("tool_result")
    assert result.record.metadata["report"] == "a"
    assert contents.notes("context") == ["system", "system", "system"]


# Turns and tokens


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        ("hello", ["end_turn"]),
        ("tools", ["end_turn"]),
        ("formats", ["end_turn", "cancelled", "end_turn"]),
    ],
)
def test_a_turn_has_a_stop_reason(gptme: AgentHome, case: str, reasons: list[str]):
    units = [unit for unit in gptme.read_case(case).units() if unit.number]

    assert [find_stop_reason(unit.entries) for unit in units] == reasons


def test_an_empty_answer_ends_the_turn(gptme: AgentHome):
    rewrite(gptme, make_message(1, "user", "Go."), make_message(2, "assistant", ""))

    assert gptme.read().main.has_turn_ended


def test_tokens_are_counted_once_per_answer(gptme: AgentHome):
    session = gptme.read_case("tools").main

    assert session.usage == Usage(6475 + 6579 + 6624, 3 * 23, 3 * 11, 0)
    assert session.model == "scripted-1"


def test_tokens_of_old_versions_are_counted(gptme: AgentHome):
    usages = [p.record.usage for p in gptme.read_case("formats").records("token_usage")]

    assert usages[-1] == Usage(7, 8)


# The client rewrites the whole file


def test_a_rewritten_file_adds_only_new_messages(gptme: AgentHome):
    first = make_message(1, "user", "Go.")
    answer = make_message(2, "assistant", "Done.")
    rewrite(gptme, first)
    gptme.read()
    rewrite(gptme, first, answer)
    gptme.read()
    # The client may be interrupted while it writes.
    os.truncate(gptme.home / FILE, 10)
    gptme.read()
    rewrite(gptme, {**first, "hide": False}, answer, make_message(3, "user", "More."))

    contents = gptme.read()
    assert contents.user_messages() == [("prompt", "Go."), ("prompt", "More.")]
    assert contents.texts("assistant_message") == ["Done."]


def test_a_prompt_after_an_undo_takes_the_earlier_one_back(gptme: AgentHome):
    first = [make_message(1, "user", "Go."), make_message(2, "assistant", "Done.")]
    wrong = [make_message(3, "user", "Wrong."), make_message(4, "assistant", "No.")]
    right = [make_message(5, "user", "Right."), make_message(6, "assistant", "Yes.")]
    rewrite(gptme, *first, *wrong)
    gptme.read()
    rewrite(gptme, *first, *right)

    contents = gptme.read()
    rewound = [unit.prompt for unit in contents.units() if unit.is_rewound]
    assert rewound == ["Wrong."]


def test_two_messages_of_the_same_time_are_both_stored(gptme: AgentHome):
    notices = [make_message(1, "system", f"Notice {number}.") for number in range(3)]
    rewrite(gptme, *notices, make_message(2, "user", "Go."))

    contents = gptme.read()
    assert contents.texts("system_event")[1:] == ["Notice 0.", "Notice 1.", "Notice 2."]


def test_a_message_of_an_unknown_role_is_stored(gptme: AgentHome):
    rewrite(gptme, make_message(1, "judge", "Good."))

    (record,) = gptme.read().records("unknown")
    assert "Good." in record.record.content
