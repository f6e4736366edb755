"""Test how Mistral Vibe's sessions are decoded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.rendering.edits import find_edits
from leslied.sessions.file_changes import find_file_changes
from leslied.sessions.tools import list_tool_names
from tests.support.agent_home import AgentHome, StoreContents
from tests.support.golden import FIXTURES

ADAPTER = load_adapters()["vibe"]
SESSIONS = Path(".vibe/logs/session/unified")
HELLO = SESSIONS / "157d0f79-2f82-8a46-d65f-286e58aba847"


@pytest.fixture
def vibe(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def list_entries(contents: StoreContents) -> list[tuple[str, str]]:
    return [(p.record.type, p.record.content) for p in contents.records()]


def test_a_turn_has_prompt_thinking_and_answer(vibe: AgentHome):
    contents = vibe.read_case("hello")

    assert contents.user_messages() == [
        ("prompt", "say hi [[hello]] [cwd=/home/dev/app]")
    ]
    assert contents.texts("thinking") == ["The user greets me."]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]
    assert contents.units()[-1].stop_reason == "end_turn"


def test_a_session_has_its_folder_and_model(vibe: AgentHome):
    main = vibe.read_case("hello").main

    assert (main.cwd, main.model) == ("/home/dev/app", "scripted-1")


def test_the_journal_alone_has_the_same_entries_as_the_checkpoint(
    vibe: AgentHome, tmp_path: Path, clock
):
    (tmp_path / "other").mkdir()
    other = AgentHome(ADAPTER, tmp_path / "other", tmp_path / "other.db", clock)

    journal, checkpoint = vibe.read_case("journal"), other.read_case("hello")

    assert [p.record.native_id for p in journal.records()] == [
        p.record.native_id for p in checkpoint.records()
    ]
    assert list_entries(journal) == list_entries(checkpoint)


def test_a_checkpoint_after_the_journal_repeats_nothing(vibe: AgentHome):
    before = vibe.read_case("journal")
    after = vibe.read_case("hello")

    assert list_entries(after) == list_entries(before)
    assert after.main.usage == Usage(8181 - 11, 23, 11)


def test_a_checkpoint_whose_journal_was_missed_adds_the_rest(vibe: AgentHome):
    vibe.read_case("journal")
    journal = vibe.home / HELLO / "journal" / "0000000000000001.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    shutil.rmtree(vibe.home / ".vibe")
    vibe.store.unlink()
    vibe.write(str(HELLO / "journal" / journal.name), *lines[:3])
    case = FIXTURES / "vibe" / "journal" / "home"
    for name in ("CURRENT", "generations"):
        _copy(case / HELLO / name, vibe.home / HELLO / name)
    first = vibe.read()

    journal.unlink()
    case = FIXTURES / "vibe" / "hello" / "home"
    for name in ("CURRENT", "generations", "chunks"):
        _copy(case / HELLO / name, vibe.home / HELLO / name)
    contents = vibe.read()

    assert first.texts("assistant_message") == []
    assert contents.texts("user_message") == ["say hi [[hello]] [cwd=/home/dev/app]"]
    assert contents.texts("assistant_message") == ["Hello from the scripted model."]


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def test_the_tokens_of_a_session_count_once(vibe: AgentHome):
    # 6 requests, each with 23 output and 11 cached tokens. The input has the cached.
    usage = Usage(50892 - 6 * 11, 6 * 23, 6 * 11)

    assert vibe.read_case("tools").main.usage == usage


def test_a_resumed_session_goes_on(vibe: AgentHome):
    units = vibe.read_case("tools").units()[1:]

    assert [unit.stop_reason for unit in units] == ["end_turn", "end_turn"]
    assert [unit.tool_calls for unit in units] == [4, 0]


def test_a_command_that_failed_has_its_exit_code(vibe: AgentHome):
    results = vibe.read_case("tools").records("tool_result")

    errors = [p.record for p in results if p.record.metadata.get("is_error")]
    assert [(r.content, r.metadata["exit_code"]) for r in errors] == [
        ("Exit code 1\nerr", 1)
    ]


def test_files_that_the_agent_changed_are_listed(vibe: AgentHome):
    entries = vibe.read_case("tools").units()[1].entries

    changes = find_file_changes(entries, "/home/dev/app", "chat-1")

    assert [(c.kind, c.path) for c in changes] == [
        ("write", "/home/dev/app/n.txt"),
        ("edit", "/home/dev/app/n.txt"),
    ]


def test_the_tools_of_files_are_listed_under_the_names_in_the_log(vibe: AgentHome):
    calls = vibe.read_case("tools").records("tool_use")

    names = {p.record.tool_name for p in calls}
    assert names <= set(list_tool_names(("write", "edit", "shell")))


def test_an_edit_is_shown_as_a_diff(vibe: AgentHome):
    calls = vibe.read_case("tools").records("tool_use")

    arguments = json.loads(calls[2].record.tool_input)
    (edit,) = find_edits(calls[2].record.tool_name, arguments)

    assert edit.changes == (("-", "line two"), ("+", "line 2"))


def test_a_subagent_is_linked_to_its_call(vibe: AgentHome):
    contents = vibe.read_case("subagent")

    (session,) = contents.subagents
    (child,) = contents.units()[-1].subagents
    calls = [p.record.tool_call_id for p in contents.records("tool_use")]
    assert session.spawn_call_id == calls[0]
    assert contents.texts("user_message", session) == ["Count files [[x-vibe-w]]"]
    assert (child.tool_calls, child.stop_reason) == (1, "end_turn")


def test_the_tokens_of_a_subagent_are_not_those_of_its_parent(vibe: AgentHome):
    contents = vibe.read_case("subagent")

    (child,) = contents.subagents
    # The model counted 23 tokens out for each of 3 and 2 requests.
    assert contents.main.usage.output_tokens == 3 * 23
    assert child.usage.output_tokens == 2 * 23


def test_the_title_of_a_session_is_the_newest(vibe: AgentHome):
    assert vibe.read_case("failures").main.title == "Cleaning up"


def test_a_minor_version_that_is_not_known_is_read(vibe: AgentHome):
    sessions = vibe.read_case("versions").sessions

    assert sorted(session.title for session in sessions) == [
        "Hello from the future",
        "Hello from the past",
        "No generation is named",
    ]


def test_a_damaged_session_does_not_stop_others(vibe: AgentHome):
    vibe.write(str(SESSIONS / "broken" / "CURRENT"), "{")

    assert vibe.read_case("hello").main.title.startswith("say hi")


def test_an_interrupted_and_a_failed_turn_say_so(vibe: AgentHome):
    units = vibe.read_case("failures").units()[1:]

    assert [unit.stop_reason for unit in units] == ["cancelled", "error"]


def test_a_prompt_that_steers_a_turn_is_queued(vibe: AgentHome):
    origins = [origin for origin, _ in vibe.read_case("failures").user_messages()]

    assert origins == ["prompt", "queued", "prompt"]
