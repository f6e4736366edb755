"""Rows of Hermes' database: in which order and how often they are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from leslied.agents.hermes import ADAPTER
from leslied.agents.hermes.feeds import FEEDS
from leslied.model.record import Usage
from tests.support.agent_home import AgentHome, StoreContents

START = 1_794_906_000.0
SCHEMA = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT,
        model_config TEXT, parent_session_id TEXT, started_at REAL NOT NULL,
        ended_at REAL, end_reason TEXT, cwd TEXT, title TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, tool_call_id TEXT,
        tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT,
        reasoning TEXT, reasoning_content TEXT);
    CREATE TABLE session_model_usage (session_id TEXT NOT NULL, model TEXT NOT NULL,
        billing_provider TEXT NOT NULL DEFAULT '',
        billing_mode TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
        input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        cache_read_tokens INTEGER NOT NULL DEFAULT 0,
        cache_write_tokens INTEGER NOT NULL DEFAULT 0, first_seen REAL, last_seen REAL,
        PRIMARY KEY (session_id, model, billing_provider, billing_mode, task));
"""


class HermesDatabase:
    """A database that is written as Hermes writes it, and the store beside it."""

    def __init__(self, agent: AgentHome) -> None:
        self.agent = agent
        folder = agent.home / ".hermes"
        folder.mkdir()
        self.db = sqlite3.connect(folder / "state.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(SCHEMA)
        self._time = START

    def tick(self) -> float:
        self._time += 1
        return self._time

    def add_session(
        self, name: str, parent: str | None = None, source: str = "cli"
    ) -> str:
        self.db.execute(
            "INSERT INTO sessions (id, source, parent_session_id, started_at, cwd) "
            "VALUES (?, ?, ?, ?, ?)",
            (name, source, parent, self.tick(), None if parent else "/home/dev/app"),
        )
        return name

    def add_message(self, session: str, role: str, content: str) -> None:
        self.db.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) "
            "VALUES (?, ?, ?, ?)",
            (session, role, content, self.tick()),
        )

    def use_tokens(self, session: str, count: int) -> None:
        self.db.execute(
            "INSERT INTO session_model_usage "
            "(session_id, model, input_tokens, first_seen, last_seen) "
            "VALUES (?, 'large', ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "input_tokens = excluded.input_tokens, last_seen = excluded.last_seen",
            (session, count, START, self.tick()),
        )

    def read(self) -> StoreContents:
        return self.agent.read()


@pytest.fixture
def hermes(home: Path, tmp_path: Path, clock) -> Iterator[HermesDatabase]:
    database = HermesDatabase(AgentHome(ADAPTER, home, tmp_path / "store.db", clock))
    yield database
    database.db.close()


def test_new_messages_are_read_once(hermes: HermesDatabase):
    session = hermes.add_session("s1")
    hermes.add_message(session, "user", "Hello")
    hermes.read()
    hermes.add_message(session, "assistant", "Hi")

    contents = hermes.read()

    assert contents.texts("user_message") == ["Hello"]
    assert contents.texts("assistant_message") == ["Hi"]


def test_tokens_that_grow_count_once(hermes: HermesDatabase):
    session = hermes.add_session("s1")
    hermes.add_message(session, "user", "Hello")
    for count in (10, 30):
        hermes.use_tokens(session, count)
        main = hermes.read().main

    assert main.usage == Usage(30)


def test_a_title_that_comes_before_the_end_is_read(hermes: HermesDatabase):
    hermes.add_message(hermes.add_session("s1"), "user", "Hello")
    hermes.read()
    hermes.db.execute(
        "UPDATE sessions SET title = 'Greeting', ended_at = ?", (hermes.tick(),)
    )

    assert hermes.read().main.title == "Greeting"


def test_a_subagent_has_the_folder_of_its_parent(hermes: HermesDatabase):
    hermes.add_message(hermes.add_session("s1"), "user", "Hello")
    hermes.add_message(hermes.add_session("s2", "s1", "subagent"), "user", "Count")

    (child,) = hermes.read().subagents

    assert (child.key.session_id, child.cwd) == ("s1", "/home/dev/app")


def test_a_session_that_continues_another_is_not_its_subagent(hermes: HermesDatabase):
    hermes.add_message(hermes.add_session("s1"), "user", "Hello")
    hermes.add_message(hermes.add_session("s2", "s1"), "user", "Go on")

    sources = [s.key.source for s in hermes.read().sessions]

    assert sources == ["main", "main"]


def test_sessions_that_are_each_others_parents_are_read(hermes: HermesDatabase):
    hermes.add_message(hermes.add_session("s1", "s2", "subagent"), "user", "One")
    hermes.add_message(hermes.add_session("s2", "s1", "subagent"), "user", "Two")

    assert len(hermes.read().sessions) == 2


def test_a_session_without_messages_is_not_shown(hermes: HermesDatabase):
    hermes.use_tokens(hermes.add_session("s1"), 5)
    hermes.db.execute("UPDATE sessions SET ended_at = 1794906100.5")

    assert hermes.read().sessions == []


def test_every_feed_has_a_name_of_its_own():
    assert len({feed.name for feed in FEEDS}) == len(FEEDS)
