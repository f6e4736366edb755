"""Entries are deleted from all sessions, and a text from all tables."""

from __future__ import annotations

import pytest

from leslied.literal_text import LiteralText
from leslied.store import Store, StoreReader
from leslied.store.read.forget_queries import ForgetReader
from tests.support.claude import SESSION, ClaudeHome, ClaudeLogBuilder
from tests.support.prune import check_store, list_contents, list_session_ids

NAME = ("claude-code", SESSION)


@pytest.fixture
def two_units(claude: ClaudeHome) -> ClaudeHome:
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt("first"),
        builder.answer("answer"),
        builder.prompt("second"),
        builder.answer("another"),
    )
    claude.sync()
    return claude


def find_entries(claude: ClaudeHome, text: str) -> set[bytes]:
    with ForgetReader(claude.store_path) as reader:
        return reader.find_entries_with(LiteralText(text))


def test_units_and_tokens_are_counted_without_deleted_entries(two_units: ClaudeHome):
    entry_ids = find_entries(two_units, "second") | find_entries(two_units, "another")
    with (
        Store(two_units.store_path, two_units.clock) as store,
        store.pruner() as pruner,
    ):
        removed = pruner.remove_entries(entry_ids)
    with StoreReader(two_units.store_path) as reader:
        (session,) = reader.list_sessions()

    assert removed == 2
    assert session.units == 1
    assert session.usage.input_tokens == 10
    assert list_contents(two_units) == ["answer", "first"]
    check_store(two_units)


def test_a_session_without_entries_is_deleted(two_units: ClaudeHome):
    with ForgetReader(two_units.store_path) as reader:
        entry_ids = reader.list_entry_ids(NAME)
    with (
        Store(two_units.store_path, two_units.clock) as store,
        store.pruner() as pruner,
    ):
        pruner.remove_entries(entry_ids)

    assert list_session_ids(two_units) == set()
    check_store(two_units)


def test_sealed_sources_are_not_archived(two_units: ClaudeHome):
    entry_ids = find_entries(two_units, "second")
    with Store(two_units.store_path, two_units.clock) as store:
        with store.archive() as ledger:
            due_before = ledger.list_due(2**60)
        with store.pruner() as pruner:
            pruner.seal_sources(entry_ids, keeps_files=True)
        with store.archive() as ledger:
            due = ledger.list_due(2**60)

    assert len(due_before) == 1
    assert due == []


def test_scrubbing_empties_what_tables_hold_of_a_text(two_units: ClaudeHome):
    with Store(two_units.store_path, two_units.clock) as store:
        execute = store._db.execute
        execute("UPDATE session SET title = 'needle', description = 'a needle'")
        execute("INSERT INTO failure VALUES ('source', 'needle', 'x', 1, 1)")
        execute("INSERT INTO leaf_title (entry_id, title) VALUES (x'01', 'needle')")
        execute("INSERT INTO rejected VALUES (1, 1, 9, 5, 'bad', x'02', 'a needle', 1)")
        with store.pruner() as pruner:
            pruner.scrub(LiteralText("needle"))
        rows = [
            execute(query).fetchall()
            for query in (
                "SELECT title, description FROM session",
                "SELECT name FROM failure",
                "SELECT title FROM leaf_title",
                "SELECT head FROM rejected",
                "SELECT offset, kind FROM noise",
            )
        ]

    assert rows == [[("", "")], [], [], [], [(9, "pruned")]]
