"""Test how Amp's threads are decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["amp"]


@pytest.fixture
def amp(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def test_a_thread_has_folder_title_and_model(amp: AgentHome):
    main = amp.read_case("tools").main

    assert (main.cwd, main.title) == ("/home/dev/my app", "Fix the off-by-one")
    assert main.model == "claude-opus-4-5-20251101"


def test_tokens_of_all_requests_are_added(amp: AgentHome):
    assert amp.read_case("tools").main.usage == Usage(22, 154, 16600, 1060)


def test_failed_calls_are_errors(amp: AgentHome):
    results = [p.record for p in amp.read_case("tools").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == ["Exit code 2\n1 failed\n", "file not found"]


def test_an_edit_changes_its_file(amp: AgentHome):
    entries = amp.read_case("tools").records()

    changes = find_file_changes(entries, "/home/dev/my app", "chat-1")
    paths = [change.path for change in changes if change.kind == "edit"]
    assert paths == ["/home/dev/my app/loop.py"]


def test_a_turn_ends_with_the_answer_or_an_interruption(amp: AgentHome):
    units = amp.read_case("tools").units()

    assert [unit.stop_reason for unit in units[1:]] == ["end_turn", "cancelled"]
    assert amp.read().main.has_turn_ended


def test_a_call_that_runs_has_no_result(amp: AgentHome):
    results = amp.read_case("odd-messages").records("tool_result")

    contents = [(p.record.tool_call_id, p.record.content) for p in results]
    assert contents == [("toolu_10", '["a.md","b.md"]'), ("toolu_11", "too slow")]


def test_text_beside_results_is_a_user_message_only_if_it_has_a_send_time(
    amp: AgentHome,
):
    prompts = amp.read_case("odd-messages").user_messages()

    assert prompts == [
        ("prompt", "what is in this picture?"),
        ("prompt", "[image image/png, 6 B]"),
        ("queued", "do not wait"),
    ]
