"""Test how Crush's databases are decoded."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leslied.agents import load_adapters
from tests.support.agent_home import AgentHome

ADAPTER = load_adapters()["crush"]
SESSION = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def crush(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def execute(home: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(home / ".crush" / "crush.db")) as db, db:
        db.execute(sql, values)


def insert_message(home: Path, id_: str, role: str, at: int, *parts: object) -> None:
    execute(
        home,
        "INSERT INTO messages (id, session_id, role, parts, model, created_at, "
        "updated_at) VALUES (?, ?, ?, ?, 'm', ?, ?)",
        *(id_, SESSION, role, json.dumps(parts), at, at),
    )


def update_message(home: Path, id_: str, at: int, *parts: object) -> None:
    sql = "UPDATE messages SET parts = ?, updated_at = ? WHERE id = ?"
    execute(home, sql, json.dumps(parts), at, id_)


def make_text(text: str) -> dict:
    return {"type": "text", "data": {"text": text}}


def test_a_session_has_folder_title_and_model(crush: AgentHome, home: Path):
    main = crush.read_case("tools").main

    assert (main.cwd, main.title) == (str(home), "Write a note")
    assert main.model == "claude-sonnet-4-5"


def test_a_subagent_is_linked_to_its_call(crush: AgentHome):
    contents = crush.read_case("tools")

    (child,) = contents.subagents
    assert child.spawn_call_id == "call_4"
    assert contents.texts("user_message", child) == ["Count the files"]


def test_a_session_that_makes_a_title_is_not_read(crush: AgentHome):
    contents = crush.read_case("tools")

    assert contents.texts("user_message") == [
        "write a note and test it\n\n[file image/png, 6 B]"
    ]


def test_failed_calls_are_errors(crush: AgentHome):
    results = [p.record for p in crush.read_case("tools").records("tool_result")]

    errors = [r.content for r in results if r.metadata.get("is_error")]
    assert errors == ["Exit code 2\nno rule", "File not found: /none"]


def test_a_call_is_read_when_its_input_is_complete(crush: AgentHome):
    assert crush.read_case("odd-messages").records("tool_use") == []


def test_an_answer_that_grows_is_one_entry(crush: AgentHome, home: Path):
    crush.read_case("tools")
    insert_message(home, "x1", "user", 1767226000, make_text("more"))
    insert_message(home, "x2", "assistant", 1767226001)
    crush.read()
    update_message(home, "x2", 1767226001, make_text("I th"))
    crush.read()
    # The time is in seconds, and does not change.
    update_message(home, "x2", 1767226001, make_text("I think so."))
    is_ended_before = crush.read().main.has_turn_ended
    finish = {"type": "finish", "data": {"reason": "end_turn"}}
    update_message(home, "x2", 1767226001, make_text("I think so."), finish)

    contents = crush.read()

    assert contents.texts("assistant_message")[-2:] == [
        "The note is written; there is no test.",
        "I think so.",
    ]
    assert (is_ended_before, contents.main.has_turn_ended) == (False, True)


def test_an_answer_that_was_empty_precedes_what_follows_it(
    crush: AgentHome, home: Path
):
    crush.read_case("tools")
    insert_message(home, "x2", "assistant", 1767226001)
    crush.read()
    call = {"id": "call_9", "name": "ls", "input": "{}", "finished": True}
    update_message(home, "x2", 1767226003, {"type": "tool_call", "data": call})
    result = {"tool_call_id": "call_9", "name": "ls", "content": "-"}
    part = {"type": "tool_result", "data": result}
    insert_message(home, "x3", "tool", 1767226002, part)

    records = [p.record for p in crush.read().records()]

    ids = [r.type for r in records if r.tool_call_id == "call_9"]
    assert ids == ["tool_use", "tool_result"]
