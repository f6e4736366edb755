"""Test how Cursor's transcripts are decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leslied.agents import load_adapters
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["cursor"]
LOG = ".cursor/projects/app/agent-transcripts/s1/s1.jsonl"
END = {"type": "turn_ended", "status": "success"}


@pytest.fixture
def cursor(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def make_line(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


def write_log(home: Path, *lines: dict[str, Any]) -> None:
    path = home / LOG
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_prompt_has_no_context_in_it(cursor: AgentHome):
    assert cursor.read_case("tools").user_messages() == [
        ("prompt", "write a note and count the files"),
        ("prompt", "thanks"),
    ]


def test_the_marker_of_a_trusted_project_has_its_folder(cursor: AgentHome):
    assert {s.cwd for s in cursor.read_case("tools").sessions} == {"/home/dev/app"}


def test_a_subagent_belongs_to_the_session_of_its_folder(cursor: AgentHome):
    contents = cursor.read_case("tools")

    (child,) = contents.subagents
    assert child.key.session_id == contents.main.key.session_id
    assert contents.texts("user_message", child) == ["Count the files"]


def test_calls_without_results_change_no_files(cursor: AgentHome):
    entries = cursor.read_case("tools").records()

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")

    assert {change.kind for change in changes} == {"folder"}


def test_a_turn_ends_when_the_transcript_says_so(cursor: AgentHome):
    sessions = cursor.read_case("odd-lines").sessions

    assert [session.has_turn_ended for session in sessions] == [True, True]


def test_a_transcript_whose_last_line_is_removed_is_read_once(
    cursor: AgentHome, home: Path
):
    first = [make_line("user", "one"), make_line("assistant", "1")]
    write_log(home, *first, END)
    cursor.read()
    write_log(home, *first, make_line("user", "two"), make_line("assistant", "2"), END)

    contents = cursor.read()

    assert contents.texts("user_message") == ["one", "two"]
    assert contents.texts("assistant_message") == ["1", "2"]
