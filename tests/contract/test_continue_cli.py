"""Test how Continue's sessions are decoded."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.errors import DecodeError
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome, StoreContents

ADAPTER = load_adapters()["continue-cli"]
SESSION = "0f9f3c5e-0000-4000-8000-000000000001"


@pytest.fixture
def continue_cli(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_item(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"message": {"role": role, "content": text}, "contextItems": [], **fields}


def read_history(agent: AgentHome, *items: dict[str, Any]) -> StoreContents:
    """Write a session again and sync it."""
    path = agent.home / f".continue/sessions/{SESSION}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"sessionId": SESSION, "title": "Untitled Session", "history": items}
    path.write_text(json.dumps(document))
    return agent.read()


def test_a_turn_has_prompt_and_answer(continue_cli: AgentHome):
    contents = continue_cli.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(continue_cli: AgentHome):
    main = continue_cli.read_case("hello").main

    assert (main.cwd, main.model) == ("/home/dev/app", "scripted-1")


def test_a_session_begins_at_the_time_in_the_list(continue_cli: AgentHome):
    main = continue_cli.read_case("tools").main

    assert main.started_at == datetime(2026, 11, 17, 0, 56, 24, 841_000, UTC)


def test_a_session_that_is_not_in_the_list_has_no_time(continue_cli: AgentHome):
    contents = read_history(continue_cli, make_item("user", "hi"))

    assert contents.main.started_at is None


def test_a_default_title_is_not_a_title(continue_cli: AgentHome):
    assert continue_cli.read_case("tools").main.title.startswith("do it")


def test_an_editor_names_the_folder_as_a_uri(continue_cli: AgentHome):
    main = continue_cli.read_case("editor").main

    assert (main.cwd, main.title) == ("/home/dev/my app", "A picture")


def test_tokens_equal_the_sum_that_the_client_keeps(continue_cli: AgentHome):
    # The model reports 11 cached tokens in each of 8 answers.
    assert continue_cli.read_case("tools").main.usage == Usage(17738 - 88, 184, 88)


def test_calls_have_their_results(continue_cli: AgentHome):
    contents = continue_cli.read_case("tools")

    calls = [placed.record.tool_call_id for placed in contents.records("tool_use")]
    results = contents.records("tool_result")
    assert len(calls) == 6
    assert [placed.record.tool_call_id for placed in results] == calls


def test_a_failed_command_has_its_exit_code(continue_cli: AgentHome):
    last = continue_cli.read_case("tools").records("tool_result")[-1].record

    assert last.content == "Exit code 1\nerr\n"
    assert last.metadata == {"exit_code": 1, "is_error": True}


def test_a_refused_call_is_an_error_and_an_open_one_has_no_result(
    continue_cli: AgentHome,
):
    contents = continue_cli.read_case("editor")

    texts = contents.texts("tool_result")
    assert texts == [
        "Exit code 2\nno rule",
        "The call was cancelled.",
        "an older result",
    ]


def test_written_and_edited_files_are_found(continue_cli: AgentHome):
    entries = continue_cli.read_case("tools").units()[1].entries

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")
    assert [(change.kind, change.path) for change in changes] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


def test_a_message_is_stored_once_although_the_document_is_rewritten(
    continue_cli: AgentHome,
):
    hello = [make_item("user", "hi"), make_item("assistant", "Hello.")]
    read_history(continue_cli, *hello)

    contents = read_history(continue_cli, *hello, *hello)

    assert contents.texts("user_message") == ["hi", "hi"]
    assert contents.texts("assistant_message") == ["Hello.", "Hello."]


def test_a_message_that_changes_has_a_new_version(continue_cli: AgentHome):
    prompt = make_item("user", "hi")
    read_history(continue_cli, prompt, make_item("assistant", "Hi"))

    contents = read_history(continue_cli, prompt, make_item("assistant", "Hello."))

    assert contents.texts("assistant_message") == ["Hello."]


def test_messages_that_a_summary_replaces_stay_in_the_store(continue_cli: AgentHome):
    read_history(
        continue_cli, make_item("user", "hi"), make_item("assistant", "Hello.")
    )
    summary = make_item("assistant", "They met.", conversationSummary="They met.")

    contents = read_history(
        continue_cli,
        summary,
        make_item("user", "hi"),
        make_item("assistant", "Hello again."),
    )

    assert contents.texts("user_message") == ["hi", "hi"]
    assert contents.texts("assistant_message") == ["Hello.", "Hello again."]
    assert contents.notes("compacted") == [""]


def test_a_compaction_by_an_editor_is_an_event_beside_the_message(
    continue_cli: AgentHome,
):
    contents = continue_cli.read_case("editor")

    assert "Done." in contents.texts("assistant_message")
    assert contents.notes("compacted") == [""]


def test_what_the_client_adds_to_a_prompt_is_attached(continue_cli: AgentHome):
    prompt = continue_cli.read_case("editor").records("user_message")[0].record

    assert prompt.content.startswith("look at this\n\n[image image/png, 3 B]")
    assert prompt.metadata["attached"] == "x = 1"


def test_a_document_without_a_history_is_rejected(continue_cli: AgentHome):
    with pytest.raises(DecodeError, match="without a history"):
        continue_cli.decode(f"{SESSION}.json", {"sessionId": SESSION})


def test_the_list_of_sessions_is_not_a_session(continue_cli: AgentHome):
    contents = continue_cli.read_case("hello")

    assert len(contents.sessions) == 1
