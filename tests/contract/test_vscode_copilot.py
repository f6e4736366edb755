"""Test how chats of VS Code are decoded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["vscode-copilot"]
CHAT = ".config/Code/User/globalStorage/emptyWindowChatSessions/c1.jsonl"


@pytest.fixture
def vscode(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_chat_has_folder_and_title(vscode: AgentHome):
    main = vscode.read_case("change-log").main

    assert (main.cwd, main.title) == ("/home/dev/my app", "Fixing the bound")


def test_tokens_of_a_request_count_once(vscode: AgentHome):
    assert vscode.read_case("change-log").main.usage == Usage(4312, 80)


def test_texts_and_references_that_follow_each_other_are_one(vscode: AgentHome):
    assert vscode.read_case("change-log").texts("assistant_message") == [
        "I look at `loop.py` first.",
        "The bound was one too small.",
        "I cou",
    ]


def test_failed_calls_are_errors(vscode: AgentHome):
    results = [p.record for p in vscode.read_case("change-log").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == ["Exit code 2\n1 failed"]


def test_an_edit_changes_its_file(vscode: AgentHome):
    entries = vscode.read_case("change-log").records()

    changes = find_file_changes(entries, "/home/dev/my app", "chat-1")

    edited = [change.path for change in changes if change.kind == "edit"]
    assert edited == ["/home/dev/my app/loop.py"]


def test_a_turn_ends_with_the_answer_or_an_interruption(vscode: AgentHome):
    units = vscode.read_case("change-log").units()

    assert [unit.stop_reason for unit in units[1:]] == ["end_turn", "cancelled"]


def test_a_chat_is_read_once_while_its_log_grows(vscode: AgentHome, home: Path):
    path = home / CHAT
    path.parent.mkdir(parents=True)
    request = {"requestId": "r1", "message": {"text": "hi"}, "response": []}
    response = ["requests", 0, "response"]
    changes = [
        {"kind": 0, "v": {"sessionId": "c1", "requests": [request]}},
        {"kind": 2, "k": response, "v": [{"value": "Hi"}]},
        {"kind": 2, "k": response, "v": [{"value": "Hello."}], "i": 0},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1}},
    ]
    for count in range(1, len(changes) + 1):
        path.write_text("".join(json.dumps(c) + "\n" for c in changes[:count]))
        contents = vscode.read()
    # VS Code is writing the next line.
    path.write_text(path.read_text() + '{"kind": 1, "k": ["custo')
    contents = vscode.read()

    assert contents.user_messages() == [("prompt", "hi")]
    assert contents.texts("assistant_message") == ["Hello."]
    assert contents.main.has_turn_ended
