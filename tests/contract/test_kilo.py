"""Test how Kilo's database, which has OpenCode's tables, is decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.model.source import Environment
from leslied.sessions.file_changes import find_file_changes
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["kilo"]


@pytest.fixture
def kilo(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def list_root_paths(home: Path, *configured: Path, **environ: str) -> list[str]:
    env = Environment(home=home, environ=environ, platform="linux")
    return [str(root.path) for root in ADAPTER.roots(env, configured)]


def test_the_roots_are_kilos_own_folder(tmp_path: Path):
    assert list_root_paths(tmp_path) == [
        f"{tmp_path}/.local/share/kilo",
        f"{tmp_path}/.local/share/kilo/storage/session",
    ]


def test_the_data_folder_can_be_moved(tmp_path: Path):
    assert list_root_paths(tmp_path, XDG_DATA_HOME="/data")[0] == "/data/kilo"


def test_a_session_is_resumed_by_its_id():
    assert ADAPTER.resume_command("ses_1") == "kilo --session ses_1"


def test_a_database_with_indexes_over_json_is_read(kilo: AgentHome):
    contents = kilo.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("thinking") == ["The user greets me."]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.main.has_turn_ended


def test_a_session_has_its_folder_model_and_title(kilo: AgentHome):
    main = kilo.read_case("subagent").main

    facts = (main.cwd, main.model, main.title)
    assert facts == ("/home/dev/app", "scripted-1", "Scripted session title")


def test_the_tokens_of_every_request_count_once(kilo: AgentHome):
    contents = kilo.read_case("resume")

    (child,) = contents.subagents
    # For each request, the model counted 23 tokens out and 11 from its cache.
    assert contents.main.usage == Usage(118010, 8 * 23, 8 * 11)
    assert child.usage == Usage(26566, 2 * 23, 2 * 11)


def test_a_subagent_is_linked_to_its_call(kilo: AgentHome):
    contents = kilo.read_case("subagent")

    (child,) = contents.units()[-1].subagents
    (session,) = contents.subagents
    assert session.spawn_call_id == "call_554ed835000097"
    assert (session.agent_type, session.description) == ("general", "count files")
    assert (child.tool_calls, child.stop_reason) == (1, "end_turn")


def test_a_failed_command_is_an_error(kilo: AgentHome):
    results = [p.record for p in kilo.read_case("tools").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == ["Exit code 1\nerr\n"]


def test_written_and_edited_files_are_changes(kilo: AgentHome):
    entries = kilo.read_case("tools").units()[-1].entries

    changes = find_file_changes(entries, "/home/dev/app", "ses_1")

    assert {(c.tool, c.path) for c in changes if c.path} == {
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    }


def test_a_database_that_grows_is_read_once(kilo: AgentHome, tmp_path: Path, clock):
    kilo.read_case("tools")
    kilo.read_case("subagent")

    grown = kilo.read_case("resume")

    fresh = AgentHome(ADAPTER, kilo.home, tmp_path / "fresh.db", clock).read()
    assert [p.entry_id for p in grown.records()] == [
        p.entry_id for p in fresh.records()
    ]
    assert [s.usage for s in grown.sessions] == [s.usage for s in fresh.sessions]
    assert grown.main.units == 2
