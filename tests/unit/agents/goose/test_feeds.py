"""Rows of Goose's database: in which order and how often they are read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leslied.agents.goose import ADAPTER
from leslied.agents.goose.feeds import FEEDS
from tests.support.agent_home import AgentHome, StoreContents

DAY = 86_400
START = 1_794_906_000
SCHEMA = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '',
        user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user',
        working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP,
        accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER,
        accumulated_output_tokens INTEGER, model_config_json TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
        session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
        created_timestamp INTEGER NOT NULL, metadata_json TEXT);
"""


class GooseDatabase:
    """A database that is written as Goose writes it, and the store beside it."""

    def __init__(self, agent: AgentHome) -> None:
        self.agent = agent
        folder = agent.home / ".local/share/goose/sessions"
        folder.mkdir(parents=True)
        self.db = sqlite3.connect(folder / "sessions.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(SCHEMA)
        self._count = 0

    def add_session(self, name: str, type_: str = "user") -> str:
        self.db.execute(
            "INSERT INTO sessions (id, session_type, working_dir, created_at, "
            "updated_at) VALUES (?, ?, '/home/dev/app', '2026-11-17 09:00:00', "
            "'2026-11-17 09:00:00')",
            (name, type_),
        )
        return name

    def add_message(
        self, session: str, role: str, *content: Any, after: int = 0
    ) -> None:
        self._count += 1
        self.db.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, "
            "created_timestamp) VALUES (?, ?, ?, ?, ?)",
            (
                f"m{self._count}",
                session,
                role,
                json.dumps(content, separators=(",", ":")),
                START + self._count + after,
            ),
        )

    def add_text(self, session: str, role: str, text: str, after: int = 0) -> None:
        self.add_message(session, role, {"type": "text", "text": text}, after=after)

    def add_result(self, session: str, call_id: str, child: str) -> None:
        """Add the result of a call that names a subagent."""
        value = {"content": [], "_meta": {"subagent_session_id": child}}
        result = {"status": "success", "value": value}
        part = {"type": "toolResponse", "id": call_id, "toolResult": result}
        self.add_message(session, "user", part)

    def read(self) -> StoreContents:
        return self.agent.read()


@pytest.fixture
def goose(home: Path, tmp_path: Path, clock) -> Iterator[GooseDatabase]:
    database = GooseDatabase(AgentHome(ADAPTER, home, tmp_path / "store.db", clock))
    yield database
    database.db.close()


def test_a_subagent_is_read_when_the_result_of_its_call_names_it(goose: GooseDatabase):
    parent, child = goose.add_session("p"), goose.add_session("c", "sub_agent")
    goose.add_text(parent, "user", "Count")
    goose.add_text(child, "user", "Count files")
    before = [s.key.source for s in goose.read().sessions]
    goose.add_result(parent, "call-1", child)

    (session,) = goose.read().subagents

    assert before == ["main"]
    assert (session.key.session_id, session.spawn_call_id) == ("p", "call-1")


def test_a_subagent_in_the_background_is_read_as_it_goes_on(goose: GooseDatabase):
    parent, child = goose.add_session("p"), goose.add_session("c", "sub_agent")
    goose.add_text(parent, "user", "Count")
    goose.add_result(parent, "call-1", child)
    goose.add_text(child, "user", "Count files")
    goose.read()
    goose.add_text(child, "assistant", "Two.")
    goose.add_result(parent, "call-of-load", child)
    contents = goose.read()

    (session,) = contents.subagents
    assert contents.texts("user_message", session) == ["Count files"]
    assert contents.texts("assistant_message", session) == ["Two."]
    assert session.spawn_call_id == "call-1"


def test_a_subagent_that_nothing_names_is_a_session_after_a_day(goose: GooseDatabase):
    parent, child = goose.add_session("p"), goose.add_session("c", "sub_agent")
    goose.add_text(parent, "user", "Count")
    goose.add_text(child, "user", "Count files")
    goose.add_text(parent, "user", "An hour later", after=3600)
    early = {s.key.session_id for s in goose.read().sessions}
    goose.add_text(parent, "user", "Two days later", after=2 * DAY)

    late = {s.key.session_id for s in goose.read().sessions}

    assert (early, late) == ({"p"}, {"p", "c"})


def test_a_conversation_that_is_written_again_is_not_read_twice(goose: GooseDatabase):
    session = goose.add_session("p")
    goose.add_text(session, "user", "Hello")
    goose.add_text(session, "assistant", "Hi")
    before = [p.entry_id for p in goose.read().records()]
    columns = "message_id, session_id, role, content_json, created_timestamp"
    rows = goose.db.execute(f"SELECT {columns} FROM messages ORDER BY id").fetchall()
    goose.db.execute("DELETE FROM messages")
    for row in rows:
        insert = f"INSERT INTO messages ({columns}) VALUES (?, ?, ?, ?, ?)"
        goose.db.execute(insert, row)

    assert [p.entry_id for p in goose.read().records()] == before


def test_a_title_and_tokens_that_come_last_are_read(goose: GooseDatabase):
    session = goose.add_session("p")
    goose.add_text(session, "user", "Hello")
    goose.read()
    # The time of the change is the same second.
    goose.db.execute(
        "UPDATE sessions SET name = 'Greeting', accumulated_input_tokens = 9, "
        "accumulated_output_tokens = 1, accumulated_total_tokens = 10"
    )

    main = goose.read().main

    assert (main.title, main.usage.total_tokens) == ("Greeting", 10)


def test_tokens_that_grow_count_once(goose: GooseDatabase):
    session = goose.add_session("p")
    for total in (10, 30):
        goose.db.execute(
            "UPDATE sessions SET accumulated_input_tokens = ?, "
            "accumulated_total_tokens = ?",
            (total, total),
        )
        goose.add_text(session, "assistant", f"Step {total}")
        main = goose.read().main

    assert main.usage.total_tokens == 30


def test_a_session_without_messages_is_not_shown(goose: GooseDatabase):
    goose.add_session("empty")
    goose.add_text(goose.add_session("p"), "user", "Hello")

    assert [s.key.session_id for s in goose.read().sessions] == ["p"]


def test_a_message_that_is_not_json_stops_no_other(goose: GooseDatabase):
    session = goose.add_session("p")
    goose.db.execute(
        "INSERT INTO messages (session_id, role, content_json, created_timestamp) "
        """VALUES ('p', 'user', '{"subagent_session_id":', 1)"""
    )
    goose.add_text(session, "user", "Hello")
    contents = goose.read()

    assert contents.texts("user_message") == ["Hello"]
    assert contents.texts("unknown") == ['{"subagent_session_id":']


def test_every_feed_has_a_name_of_its_own():
    assert len({feed.name for feed in FEEDS}) == len(FEEDS)
