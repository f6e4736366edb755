"""Rows of OpenClaw's database: which are read, and how often."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from leslied.agents.openclaw import ADAPTER
from tests.support.agent_home import AgentHome

MIB = 1024 * 1024
DATABASE = ".openclaw/agents/main/agent/openclaw-agent.sqlite"


@pytest.fixture
def openclaw(home: Path, tmp_path: Path, clock) -> AgentHome:
    return AgentHome(ADAPTER, home, tmp_path / "store.db", clock)


def compress(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def run_sql(agent: AgentHome, *statements: str) -> None:
    with closing(sqlite3.connect(agent.home / DATABASE)) as db:
        # SQLite before 3.43 lacks a function that checks of the tables use.
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.create_function("octet_length", 1, len)
        for statement in statements:
            db.execute(statement)
        db.commit()


def test_a_label_is_the_title(openclaw: AgentHome):
    openclaw.read_case("tools")
    run_sql(openclaw, "UPDATE session_nodes SET label = 'Notes', updated_at = 2e12")

    assert openclaw.read().main.title == "Notes"


def test_an_event_that_is_added_is_read_once(openclaw: AgentHome):
    first = openclaw.read_case("hello")
    run_sql(
        openclaw,
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at) "
        "SELECT session_id, 6, replace(event_json, '690fb9d9', 'new'), 0 "
        "FROM transcript_events WHERE seq = 4",
    )

    assert len(openclaw.read().records()) == len(first.records()) + 1


def test_an_event_that_is_rewritten_has_a_new_version(openclaw: AgentHome):
    openclaw.read_case("hello")
    run_sql(
        openclaw,
        "UPDATE transcript_events SET event_json = replace(event_json, 'Hello', 'Hi')",
        "UPDATE transcript_rewrite_watermarks SET generation = 'x', updated_at = 2e12",
    )

    assert openclaw.read().texts("assistant_message") == ["Hi from the scripted model."]


def test_events_that_are_written_again_are_stored_once(openclaw: AgentHome):
    first = openclaw.read_case("tools")
    run_sql(
        openclaw,
        "CREATE TEMP TABLE copy AS SELECT * FROM transcript_events",
        "DELETE FROM transcript_events",
        "INSERT INTO transcript_events SELECT * FROM copy ORDER BY seq",
        "UPDATE transcript_rewrite_watermarks SET generation = 'x', updated_at = 2e12",
    )

    second = openclaw.read()
    assert len(second.records()) == len(first.records())
    assert second.main.usage == first.main.usage


def test_a_database_without_compressed_events_is_read(openclaw: AgentHome):
    path = openclaw.home / DATABASE
    path.parent.mkdir(parents=True)
    event = {"type": "message", "id": "1", "message": {"role": "user", "content": "hi"}}
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE transcript_events (session_id, seq, event_json)")
        db.execute(
            "INSERT INTO transcript_events VALUES ('s', 0, ?)", (json.dumps(event),)
        )
        db.commit()

    assert openclaw.read().user_messages() == [("prompt", "hi")]


@pytest.mark.parametrize(
    "data", [b"no zstd", b"\x28\xb5\x2f\xfd\x00", compress(b" " * (4 * MIB + 1))]
)
def test_an_event_that_cannot_be_decompressed_is_rejected(
    openclaw: AgentHome, data: bytes
):
    openclaw.read_case("hello")
    run_sql(
        openclaw,
        "INSERT INTO transcript_events (session_id, seq, event_zstd, created_at, "
        "event_utf8_bytes) SELECT session_id, 6, "
        f"x'{data.hex()}', 0, 9 FROM transcript_events WHERE seq = 4",
    )
    openclaw.read()

    with closing(sqlite3.connect(openclaw.store)) as db:
        (row,) = db.execute("SELECT reason FROM rejected").fetchall()
    assert row == ("a compressed event that is damaged or too large",)
