"""Sizes of sessions, tables and the archive."""

from __future__ import annotations

import sqlite3

from leslied.store import Store, StoreReader
from leslied.store.read.size_queries import SizeQueries
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.prune import make_archiver, sync_and_archive

SMALL, LARGE = ("claude-code", "small"), ("claude-code", "large")


def write_sessions(claude: ClaudeHome) -> None:
    """Write, ingest and archive a small session and a large one with a subagent."""
    claude.write(ClaudeLogBuilder("small").prompt("x"), name="-app/small.jsonl")
    claude.write(ClaudeLogBuilder("large").prompt("y" * 9000), name="-app/large.jsonl")
    claude.write(
        ClaudeLogBuilder("large").prompt("z"), name="-app/large/subagents/agent-a.jsonl"
    )
    sync_and_archive(claude)


def test_the_stores_bytes_are_divided_in_proportion_to_the_texts(claude: ClaudeHome):
    write_sessions(claude)

    with StoreReader(claude.store_path) as reader:
        sizes = reader.sizes.get_store_bytes_by_session()
        used_bytes = reader.sizes.get_used_bytes()
    assert sizes[LARGE] > 5 * sizes[SMALL]
    # The size of each of the two sessions is rounded down.
    assert used_bytes - 2 <= sum(sizes.values()) <= used_bytes


def test_the_archive_of_a_session_includes_its_subagents(claude: ClaudeHome):
    write_sessions(claude)
    folder = claude.store_path.parent / "archive"
    file_sizes = [path.stat().st_size for path in folder.rglob("*.zst")]

    with StoreReader(claude.store_path) as reader:
        sizes = reader.sizes.get_archive_bytes_by_session()
        total = reader.sizes.get_archive_bytes()
    assert len(file_sizes) == 3
    assert sizes.keys() == {SMALL, LARGE}
    assert sum(sizes.values()) == total == sum(file_sizes)


def test_the_sizes_of_tables_add_up_to_the_used_bytes(claude: ClaudeHome):
    write_sessions(claude)

    with StoreReader(claude.store_path) as reader:
        tables = reader.sizes.get_table_bytes()
        assert sum(tables.values()) == reader.sizes.get_used_bytes()


def test_without_dbstat_there_are_no_table_sizes(claude: ClaudeHome):
    write_sessions(claude)

    class WithoutDbstat:
        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("no such table: dbstat")

    assert SizeQueries(WithoutDbstat(), claude.store_path).get_table_bytes() == {}  # type: ignore[arg-type]


def test_the_sources_of_a_session_are_listed_with_their_cursors(
    claude: ClaudeHome,
):
    write_sessions(claude)
    with Store(claude.store_path, claude.clock) as store:
        make_archiver(claude, store).run()

    with StoreReader(claude.store_path) as reader:
        cursors = [source.cursor for source in reader.sizes.list_sources(LARGE)]
    assert len(cursors) == 2
    assert all(cursor.offset == cursor.stamp.size for cursor in cursors)
