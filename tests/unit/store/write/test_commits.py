"""Test the writer's transactions: at once, together, and rolled back."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.store.write.commits import Commits


class CommitsHarness:
    """A table, the transactions of its writer, and a reader beside them."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("CREATE TABLE item (name TEXT NOT NULL)")
        self.reader = sqlite3.connect(path, isolation_level=None)
        self.commits = Commits(self.db, path)

    def insert(self, name: str | None) -> None:
        with self.commits.postponable():
            self.db.execute("INSERT INTO item VALUES (?)", (name,))

    def fail_after_insert(self, name: str) -> None:
        with self.commits.postponable():
            self.db.execute("INSERT INTO item VALUES (?)", (name,))
            raise ZeroDivisionError

    def read(self) -> list[str]:
        """Return what another connection sees."""
        return [name for (name,) in self.reader.execute("SELECT name FROM item")]


@pytest.fixture
def harness(tmp_path: Path):
    harness = CommitsHarness(tmp_path / "store.db")
    yield harness
    harness.db.close()
    harness.reader.close()


def test_without_a_group_each_context_commits_when_it_ends(harness: CommitsHarness):
    harness.insert("a")

    assert (harness.read(), harness.commits.count) == (["a"], 1)


def test_a_group_is_committed_together_at_its_end(harness: CommitsHarness):
    with harness.commits.group():
        harness.insert("a")
        harness.insert("b")
        before = harness.read()

    assert (before, harness.read(), harness.commits.count) == ([], ["a", "b"], 1)


def test_a_flush_commits_what_waits(harness: CommitsHarness):
    with harness.commits.group():
        harness.insert("a")
        harness.commits.flush()
        flushed = harness.read()

    assert (flushed, harness.commits.count) == (["a"], 1)


def test_a_transaction_in_a_group_commits_what_came_before_it_too(
    harness: CommitsHarness,
):
    with harness.commits.group():
        harness.insert("a")
        with harness.commits.transaction():
            harness.db.execute("INSERT INTO item VALUES ('b')")
        committed = harness.read()

    assert committed == ["a", "b"]


def test_an_error_rolls_back_only_its_own_context(harness: CommitsHarness):
    with harness.commits.group():
        harness.insert("a")
        with pytest.raises(ZeroDivisionError):
            harness.fail_after_insert("b")
        harness.insert("c")

    assert harness.read() == ["a", "c"]


def test_a_group_that_ends_with_an_error_keeps_what_was_finished(
    harness: CommitsHarness,
):
    with suppress(ZeroDivisionError), harness.commits.group():
        harness.insert("a")
        harness.fail_after_insert("b")

    assert harness.read() == ["a"]


def test_reading_does_not_count(harness: CommitsHarness):
    with harness.commits.transaction():
        harness.db.execute("SELECT * FROM item").fetchall()

    assert harness.commits.count == 0


def test_an_error_of_sqlite_is_raised_as_an_unusable_store(harness: CommitsHarness):
    with pytest.raises(StoreUnusable, match="cannot be written"):
        harness.insert(None)

    assert harness.read() == []


def test_an_error_of_sqlite_in_a_group_leaves_the_others(harness: CommitsHarness):
    with harness.commits.group():
        harness.insert("a")
        with pytest.raises(StoreUnusable, match="cannot be written"):
            harness.insert(None)

    assert harness.read() == ["a"]
