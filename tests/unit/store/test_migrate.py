"""Schema versions: newer stores are refused, older ones are migrated."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from leslied.errors import NewerStore, StoreUnusable
from leslied.store import Store, StoreReader, schema
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, list_modes, make_prompt

NEWEST = len(schema.MIGRATIONS)


@pytest.fixture
def path(tmp_path: Path, clock: FakeClock) -> Path:
    """Create a store with the newest schema and one record; return its path."""
    path = tmp_path / "data" / "store.db"
    with StoreHarness(path, clock) as harness:
        harness.commit(make_prompt("one", "1"))
    return path


def read_schema_version(path: Path) -> int:
    db = sqlite3.connect(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return int(version)


def execute(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def add_column(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE record ADD COLUMN note TEXT NOT NULL DEFAULT 'x'")


def fail_halfway(connection: sqlite3.Connection) -> None:
    add_column(connection)
    connection.execute("INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def add_migrations(monkeypatch: pytest.MonkeyPatch):
    """Return a function that adds migrations to the program."""

    def add(*steps) -> None:
        migrations = [(step.__name__, step) for step in steps]
        monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, *migrations])
        monkeypatch.setattr(
            "leslied.store.connection.MIGRATIONS", schema.MIGRATIONS, raising=False
        )

    return add


def test_a_new_store_has_the_newest_schema(path: Path):
    assert read_schema_version(path) == NEWEST


@pytest.mark.fault("E6", "E7")
@pytest.mark.parametrize("opener", [Store, lambda path, _: StoreReader(path)])
def test_a_newer_schema_is_refused_with_a_message(path: Path, clock: FakeClock, opener):
    execute(path, f"PRAGMA user_version = {NEWEST + 1}")

    with pytest.raises(NewerStore, match="newer leslied") as raised:
        opener(path, clock)

    assert raised.value.exit_code == 3
    assert "Update leslied" in raised.value.hint


@pytest.mark.fault("E7")
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_store_with_a_newer_schema_is_not_changed(
    path: Path, clock: FakeClock, mode: str
):
    execute(
        path, f"PRAGMA user_version = {NEWEST + 1}", f"PRAGMA journal_mode = {mode}"
    )
    before = path.read_bytes()

    with pytest.raises(StoreUnusable):
        Store(path, clock)

    assert path.read_bytes() == before


@pytest.mark.fault("E6")
def test_an_older_store_is_migrated_with_its_records(
    path: Path, clock: FakeClock, add_migrations
):
    add_migrations(add_column)

    with StoreHarness(path, clock) as harness:
        assert harness.execute("SELECT content, note FROM record") == [("one", "x")]
    assert read_schema_version(path) == NEWEST + 1


@pytest.mark.fault("E6")
def test_an_older_store_is_copied_before_the_migration(
    path: Path, clock: FakeClock, add_migrations
):
    add_migrations(add_column)
    Store(path, clock).close()

    copy = path.with_name(f"store.db.form{NEWEST}")
    assert list_modes([copy]) == {0o600}
    assert read_schema_version(copy) == NEWEST
    db = sqlite3.connect(copy)
    assert db.execute("SELECT content FROM record").fetchall() == [("one",)]
    db.close()


@pytest.mark.fault("E6")
def test_a_copy_of_an_earlier_migration_is_replaced(
    path: Path, clock: FakeClock, add_migrations
):
    copy = path.with_name(f"store.db.form{NEWEST}")
    copy.write_bytes(b"left by a migration that failed")
    add_migrations(add_column)

    Store(path, clock).close()

    assert read_schema_version(copy) == NEWEST


def test_a_store_with_the_newest_schema_is_not_copied(path: Path, clock: FakeClock):
    Store(path, clock).close()

    assert {file.name for file in path.parent.iterdir()} == {"store.db", "writer.lock"}


@pytest.mark.fault("E6")
def test_a_failing_migration_leaves_the_store_unchanged(path: Path, clock: FakeClock):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("x", fail_halfway)])
        with pytest.raises(StoreUnusable, match="nowhere"):
            Store(path, clock)

    with StoreHarness(path, clock) as harness:
        columns = [row[1] for row in harness.execute("PRAGMA table_info(record)")]
        assert "note" not in columns
        assert harness.contents() == ["one"]


@pytest.mark.fault("E6")
def test_migrations_before_a_failing_one_are_committed(
    path: Path, clock: FakeClock, add_migrations
):
    add_migrations(add_column, fail_halfway)
    with pytest.raises(StoreUnusable):
        Store(path, clock)

    assert read_schema_version(path) == NEWEST + 1


@pytest.mark.fault("E6")
def test_a_failing_migration_releases_all_locks(path: Path, clock: FakeClock):
    """The locks are released even while the error object exists."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("x", fail_halfway)])
        with pytest.raises(StoreUnusable) as raised:
            Store(path, clock)
    db = sqlite3.connect(path, isolation_level=None, timeout=0)

    db.execute("BEGIN IMMEDIATE")

    assert raised.value
    db.close()


@pytest.mark.fault("E11")
def test_a_migration_with_a_bug_releases_the_writer_lock(path: Path, clock: FakeClock):
    def fail(connection: sqlite3.Connection) -> None:
        raise ValueError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("x", fail)])
        with pytest.raises(ValueError):  # noqa: PT011
            Store(path, clock)

    Store(path, clock).close()


@pytest.mark.fault("E6")
def test_a_reader_refuses_an_older_schema_with_a_hint(path: Path, add_migrations):
    add_migrations(add_column)

    with pytest.raises(StoreUnusable, match="older leslied") as raised:
        StoreReader(path)

    assert "leslied sync" in raised.value.hint


@pytest.mark.parametrize(
    "table", ["record", "placement", "source", "session", "usage", "record_text"]
)
def test_a_new_store_has_empty_tables(tmp_path: Path, clock: FakeClock, table: str):
    with StoreHarness(tmp_path / "other" / "store.db", clock) as harness:
        assert harness.count(table) == 0


@pytest.mark.fault("E4")
def test_the_store_passes_the_integrity_check(path: Path, clock: FakeClock):
    with StoreHarness(path, clock) as harness:
        assert harness.execute("PRAGMA integrity_check") == [("ok",)]
        assert harness.execute("PRAGMA foreign_key_check") == []
