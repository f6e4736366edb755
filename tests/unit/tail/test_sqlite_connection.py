"""Test that an agent's database opens, and that its schema has no effect."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import SourceError
from leslied.tail.limits import ReadLimits
from leslied.tail.sqlite_connection import (
    allow_tables,
    choose_open_mode,
    open_read_only,
    read_state,
)
from tests.support.waiting import MAX_WAIT_SECONDS

CHAT = "CREATE TABLE chat (id text, data text);"
ROW = """INSERT INTO chat (id, data) VALUES ('a', '{"role": "user"}');"""


def write_database(path: Path, schema: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(schema)


@contextmanager
def open_restricted(path: Path) -> Iterator[sqlite3.Connection]:
    with open_read_only(
        path, choose_open_mode(path, read_state(path, path.parent)), ReadLimits()
    ) as db:
        allow_tables(db)
        yield db


def query(path: Path, sql: str) -> list[Any]:
    with open_restricted(path) as db:
        return db.execute(sql).fetchall()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.mark.parametrize(
    "index",
    [
        "CREATE INDEX by_role ON chat (json_extract(data, '$.role'));",
        "CREATE INDEX users ON chat (id) WHERE json_extract(data, '$.role') = 'user';",
    ],
)
def test_a_database_with_an_index_over_json_is_read(path: Path, index: str):
    write_database(path, CHAT + ROW + index)

    assert query(path, "SELECT id FROM chat") == [(b"a",)]


def test_a_database_with_a_column_computed_from_json_is_read(path: Path):
    computed = "ALTER TABLE chat ADD role AS (json_extract(data, '$.role'));"
    write_database(path, CHAT + computed + ROW)

    assert query(path, "SELECT id, role FROM chat") == [(b"a", b"user")]


def test_a_database_whose_index_uses_a_function_of_the_agent_is_read(path: Path):
    with closing(sqlite3.connect(path)) as db:
        db.create_function("importance", 1, len, deterministic=True)
        db.executescript(CHAT + ROW + "CREATE INDEX i ON chat (importance(data));")

    assert query(path, "SELECT id FROM chat") == [(b"a",)]


def test_only_ordinary_tables_are_offered(path: Path):
    write_database(
        path,
        CHAT + "CREATE VIEW copy AS SELECT * FROM chat;"
        "CREATE VIRTUAL TABLE words USING fts5(text);",
    )

    with open_read_only(
        path, choose_open_mode(path, read_state(path, path.parent)), ReadLimits()
    ) as db:
        tables = allow_tables(db)

    assert {"chat", "words_data"} <= tables
    assert not tables & {"copy", "words"}


@pytest.mark.threat("X5")
@pytest.mark.parametrize(
    "table",
    [
        "CREATE VIEW trap AS SELECT upper(id) AS id FROM chat",
        "CREATE VIEW trap AS SELECT name AS id FROM pragma_function_list",
        "CREATE VIRTUAL TABLE trap USING fts5(id)",
    ],
)
def test_a_view_or_virtual_table_is_not_read(path: Path, table: str):
    write_database(path, CHAT + ROW + table)

    with pytest.raises(
        sqlite3.DatabaseError, match=r"not authorized|prohibited|constructor failed"
    ):
        query(path, "SELECT id FROM trap")


@pytest.mark.threat("X5")
def test_a_computed_column_cannot_load_code(path: Path):
    # SQLite refuses to create such a column, so write it into the schema.
    write_database(
        path,
        CHAT + ROW + "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE chat (id text, data text, "
        "trap AS (load_extension(data)))' WHERE name = 'chat';",
    )

    with pytest.raises(sqlite3.DatabaseError, match=r"load_extension|non-determ"):
        query(path, "SELECT trap FROM chat")


@pytest.mark.threat("X5")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO chat VALUES ('b', '')",
        "DELETE FROM chat",
        "CREATE TABLE other (id)",
        "ATTACH ':memory:' AS other",
        "PRAGMA writable_schema = ON",
    ],
)
def test_nothing_but_queries_runs(path: Path, statement: str):
    trigger = "CREATE TRIGGER t AFTER DELETE ON chat BEGIN DELETE FROM log; END;"
    log = "CREATE TABLE log (text); INSERT INTO log VALUES ('kept');"
    write_database(path, CHAT + ROW + log + trigger)

    with open_restricted(path) as db:
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            db.execute(statement)
        rows = db.execute("SELECT text FROM log").fetchall()

    assert rows == [(b"kept",)]


@pytest.mark.fault("E10")
def test_an_agent_switches_a_new_database_to_wal_mode_while_it_is_read(path: Path):
    write_database(path, CHAT + ROW)
    with (
        open_restricted(path) as db,
        closing(sqlite3.connect(path, timeout=0)) as agent,
    ):
        rows = db.execute("SELECT id FROM chat")
        next(rows)

        (mode,) = agent.execute("PRAGMA journal_mode = WAL").fetchone()

    assert mode == "wal"


def test_a_write_without_wal_mode_changes_the_state(path: Path):
    write_database(path, CHAT + ROW)
    before = read_state(path, path.parent)
    unchanged = read_state(path, path.parent)
    write_database(path, ROW)

    assert unchanged == before
    assert read_state(path, path.parent) != before


@pytest.mark.fault("E10")
def test_a_database_is_not_read_during_a_write_without_wal_mode(path: Path):
    write_database(path, CHAT)
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        # A cache without space makes SQLite write before the end of a transaction.
        agent.execute("PRAGMA cache_size = 1")
        agent.execute("BEGIN IMMEDIATE")
        values = [("a", "x" * 4000)] * 50
        agent.executemany("INSERT INTO chat VALUES (?, ?)", values)

        with pytest.raises(SourceError, match="by its agent"):
            read_state(path, path.parent)

        agent.execute("ROLLBACK")
    assert read_state(path, path.parent)


@pytest.mark.threat("P5")
@pytest.mark.parametrize("suffixes", [["-wal"], ["-shm"], ["-wal", "-shm"]])
@pytest.mark.timeout(MAX_WAIT_SECONDS)
def test_a_pipe_beside_a_database_does_not_block(path: Path, suffixes: list[str]):
    write_database(path, "PRAGMA journal_mode = WAL;" + CHAT)
    path.with_name(path.name + "-wal").touch()
    for suffix in suffixes:
        beside = path.with_name(path.name + suffix)
        beside.unlink(missing_ok=True)
        os.mkfifo(beside)

    with pytest.raises(SourceError, match="not a regular file"):
        read_state(path, path.parent)
