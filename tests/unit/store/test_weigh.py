"""What takes how much room."""

from __future__ import annotations

import sqlite3

from leslied.store import Reader, Store
from leslied.store.weigh import Weights
from tests.support.claude import ClaudeHome, Talk
from tests.support.prune import make_keep, read_home

SMALL, LARGE = ("claude-code", "small"), ("claude-code", "large")


def write(claude: ClaudeHome) -> None:
    claude.write(Talk("small").prompt("x"), name="-app/small.jsonl")
    claude.write(Talk("large").prompt("y" * 9000), name="-app/large.jsonl")
    claude.write(Talk("large").prompt("z"), name="-app/large/subagents/agent-a.jsonl")
    read_home(claude)


def test_the_store_is_shared_out_by_what_each_session_says(claude: ClaudeHome):
    write(claude)

    with Reader(claude.store_path) as reader:
        sizes, used = reader.weights.sessions(), reader.weights.used()
    assert sizes[LARGE] > 5 * sizes[SMALL]
    assert used - 2 <= sum(sizes.values()) <= used


def test_a_sessions_archive_is_that_of_its_subagents_too(claude: ClaudeHome):
    write(claude)
    folder = claude.store_path.parent / "archive"
    files = [path.stat().st_size for path in folder.rglob("*.zst")]

    with Reader(claude.store_path) as reader:
        archived = reader.weights.archived()
        total = reader.weights.archive()
    assert len(files) == 3
    assert sum(archived.values()) == total == sum(files)


def test_every_table_is_told(claude: ClaudeHome):
    write(claude)

    with Reader(claude.store_path) as reader:
        tables = reader.weights.tables()
        assert sum(tables.values()) == reader.weights.used()


def test_a_sqlite_that_cannot_tell_tables_tells_none(claude: ClaudeHome):
    write(claude)

    class Old:
        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("no such table: dbstat")

    assert Weights(Old(), claude.store_path).tables() == {}  # type: ignore[arg-type]


def test_the_logs_of_a_session_are_told_with_how_far_they_were_read(
    claude: ClaudeHome,
):
    write(claude)
    with Store(claude.store_path, claude.clock) as store:
        make_keep(claude, store).run()

    with Reader(claude.store_path) as reader:
        logs = reader.weights.logs(LARGE)
    assert len(logs) == 2
    assert all(log.cursor.offset == log.cursor.stamp.size for log in logs)
