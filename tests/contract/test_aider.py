"""Test how Aider's chat histories are decoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from leslied.agents import load_adapters
from leslied.model.record import Usage
from leslied.model.session import SessionSummary
from leslied.sessions.file_changes import find_file_changes
from leslied.sessions.turns import find_stop_reason
from tests.support.agent_home import AgentHome, StoreContents

ADAPTER = load_adapters()["aider"]
FILE = "app/.aider.chat.history.md"
HEADER = "\n# aider chat started at 2026-11-17 10:00:00\n\n"
FIRST, SECOND = "20261117-004924-a172cedc", "20261117-005737-a172cedc"
"""The sessions in the case `runs`."""


@pytest.fixture
def aider(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def get_session(contents: StoreContents, session_id: str) -> SessionSummary:
    (session,) = [s for s in contents.sessions if s.key.session_id == session_id]
    return session


def test_a_run_is_a_session_in_the_project(aider: AgentHome):
    contents = aider.read_case("runs")

    ids = {session.key.session_id for session in contents.sessions}
    assert ids == {FIRST, SECOND}
    assert {session.cwd for session in contents.sessions} == {str(aider.home / "app")}


def test_two_runs_of_the_same_second_are_two_sessions(aider: AgentHome):
    contents = aider.read_case("speech")

    ids = {session.key.session_id for session in contents.sessions}
    assert {"20261117-103000-a172cedc", "20261117-103000-a172cedc-2"} <= ids


def test_text_before_the_first_run_is_kept(aider: AgentHome):
    contents = aider.read_case("speech")

    session = get_session(contents, "undated-a172cedc")
    assert contents.texts("assistant_message", session) == [
        "The beginning of this file was removed."
    ]


def test_every_user_message_has_its_origin(aider: AgentHome):
    contents = aider.read_case("speech")

    session = get_session(contents, "20261117-100000-a172cedc")
    assert [
        (placed.record.metadata["origin"], placed.record.content)
        for placed in contents.records("user_message", session)
    ] == [
        ("command", "/add a.py"),
        ("prompt", "Rename both functions.\n\nKeep the rest."),
        ("shell", "! make test"),
        ("prompt", "Explain everything."),
    ]


def test_an_answer_may_contain_quotes_and_headings(aider: AgentHome):
    contents = aider.read_case("speech")

    session = get_session(contents, "20261117-100000-a172cedc")
    answer = contents.texts("assistant_message", session)[0]
    assert answer.startswith("#### What I do\n\n> Names matter.\n\nI rename them:")


def test_a_thought_is_not_part_of_the_answer(aider: AgentHome):
    contents = aider.read_case("runs")

    session = get_session(contents, FIRST)
    assert contents.texts("thinking", session) == ["The user greets me."]
    assert contents.texts("assistant_message", session) == [
        "Hello from the scripted model."
    ]


def test_an_applied_edit_is_a_call_with_a_result(aider: AgentHome):
    contents = aider.read_case("runs")
    session = get_session(contents, SECOND)

    entries = contents.records(session=session)
    changes = find_file_changes(entries, session.cwd, "chat-1")
    edits = [change.path for change in changes if change.kind == "edit"]
    assert edits == [f"{session.cwd}/n.txt"]
    assert contents.texts("tool_result", session) == ["Applied edit to n.txt"]


def test_the_message_of_a_commit_is_not_an_answer(aider: AgentHome):
    contents = aider.read_case("runs")

    assert len(contents.texts("assistant_message", get_session(contents, SECOND))) == 1


def test_tokens_are_those_of_the_reports(aider: AgentHome):
    contents = aider.read_case("runs")

    first, second = (get_session(contents, id_) for id_ in (FIRST, SECOND))
    assert (first.usage, second.usage) == (Usage(781, 62), Usage(2500, 25))


def test_a_session_has_its_model(aider: AgentHome):
    contents = aider.read_case("runs")

    assert get_session(contents, FIRST).model == "scripted-1"


def test_sent_tokens_include_those_of_the_cache(aider: AgentHome):
    contents = aider.read_case("speech")

    session = get_session(contents, "20261117-100000-a172cedc")
    assert session.usage == Usage(1500, 321, 8400, 2100)


def test_a_turn_ends_after_its_report_and_edits(aider: AgentHome):
    contents = aider.read_case("runs")

    assert all(session.has_turn_ended for session in contents.sessions)


@pytest.mark.parametrize(
    ("notice", "reason"),
    [
        ("Tokens: 1 sent, 2 received.", "end_turn"),
        ("^C KeyboardInterrupt", "cancelled"),
        ("litellm.AuthenticationError: no key", "error"),
    ],
)
def test_a_turn_has_a_stop_reason(aider: AgentHome, notice: str, reason: str):
    aider.write(FILE, HEADER, "\n#### Go.  \n", f"> {notice}  \n")

    (unit,) = [unit for unit in aider.read().units() if unit.number]
    assert find_stop_reason(unit.entries) == reason


def test_a_growing_history_is_stored_once(aider: AgentHome):
    case = Path(__file__).parents[1] / "fixtures/agents/aider/speech/home" / FILE
    text = case.read_text("utf-8")
    aider.read_case("speech")
    whole = aider.read()
    grown = AgentHome(ADAPTER, aider.home, aider.store.with_name("grown"), aider.clock)
    (aider.home / FILE).unlink()
    for start in range(0, len(text), 97):
        grown.write(FILE, text[start : start + 97])
        contents = grown.read()

    assert list_texts(contents) == list_texts(whole)


def list_texts(contents: StoreContents) -> list[tuple[str, str, str]]:
    return [
        (session.key.session_id, placed.record.type, placed.record.content)
        for session in sorted(contents.sessions, key=lambda session: session.key)
        for placed in contents.records(session=session)
    ]


def test_an_incomplete_last_line_waits(aider: AgentHome):
    aider.write(FILE, HEADER, "\n###")
    aider.read()
    aider.write(FILE, "# Go.  \n")

    assert aider.read().user_messages() == [("prompt", "Go.")]
