"""Test how sessions of Kiro CLI are decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["kiro"]


@pytest.fixture
def kiro(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_the_metadata_has_folder_title_and_model(kiro: AgentHome):
    main = kiro.read_case("second-engine").main

    assert (main.cwd, main.title) == ("/home/dev/app", 'Write a "note"')
    assert main.model == "claude-sonnet-4.5"


def test_failed_calls_are_errors(kiro: AgentHome):
    results = [p.record for p in kiro.read_case("second-engine").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == ["Exit code 2\nno rule", "no such file"]


def test_a_written_file_is_a_change(kiro: AgentHome):
    entries = kiro.read_case("second-engine").records()

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")

    written = [change.path for change in changes if change.kind == "write"]
    assert written == ["/home/dev/app/note.md"]


def test_an_answer_without_calls_ends_the_turn(kiro: AgentHome):
    assert kiro.read_case("second-engine").units()[-1].stop_reason == "end_turn"


def test_a_session_of_the_third_engine_is_read(kiro: AgentHome):
    contents = kiro.read_case("third-engine")

    assert contents.user_messages() == [("prompt", "count the files")]
    assert contents.texts("assistant_message") == ["I count.", "One file."]
    assert contents.texts("tool_result") == ["note.md", '{"error":"none"}']
    assert contents.main.model == "claude-sonnet-4.5"
