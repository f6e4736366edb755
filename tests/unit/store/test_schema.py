"""Forms of the store: newer ones are left alone, older ones go forward."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from leslied.errors import StoreUnusable
from leslied.store import Store, StoreReader, schema
from tests.support.clock import FakeClock
from tests.support.records import StoreHarness, list_modes, make_prompt

NEWEST = len(schema.MIGRATIONS)


@pytest.fixture
def path(tmp_path: Path, clock: FakeClock) -> Path:
    """A store of the newest form with a record in it."""
    path = tmp_path / "data" / "store.db"
    with StoreHarness(path, clock) as shelf:
        shelf.commit(make_prompt("one", "1"))
    return path


def schema_version(path: Path) -> int:
    db = sqlite3.connect(path)
    (form,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return int(form)


def alter(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def add_note(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE record ADD COLUMN note TEXT NOT NULL DEFAULT 'x'")


def fail_halfway(connection: sqlite3.Connection) -> None:
    add_note(connection)
    connection.execute("INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch):
    """Makes the program one that knows these further steps."""

    def learn(*steps) -> None:
        more = [(step.__name__, step) for step in steps]
        monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, *more])
        monkeypatch.setattr(
            "leslied.store.connection.MIGRATIONS", schema.MIGRATIONS, raising=False
        )

    return learn


def test_a_new_store_has_the_newest_form(path: Path):
    assert schema_version(path) == NEWEST


@pytest.mark.parametrize("opener", [Store, lambda path, _: StoreReader(path)])
def test_a_newer_form_is_refused_with_a_sentence(path: Path, clock: FakeClock, opener):
    """E6, E7."""
    alter(path, f"PRAGMA user_version = {NEWEST + 1}")

    with pytest.raises(StoreUnusable, match="newer leslied") as told:
        opener(path, clock)

    assert told.value.exit_code == 3
    assert "Update leslied" in told.value.hint


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_newer_form_is_not_changed(path: Path, clock: FakeClock, mode: str):
    """E7."""
    alter(path, f"PRAGMA user_version = {NEWEST + 1}", f"PRAGMA journal_mode = {mode}")
    before = path.read_bytes()

    with pytest.raises(StoreUnusable):
        Store(path, clock)

    assert path.read_bytes() == before


def test_an_older_form_goes_forward_with_its_records(
    path: Path, clock: FakeClock, later
):
    """E6."""
    later(add_note)

    with StoreHarness(path, clock) as shelf:
        assert shelf.execute("SELECT content, note FROM record") == [("one", "x")]
    assert schema_version(path) == NEWEST + 1


def test_an_older_form_is_saved_first(path: Path, clock: FakeClock, later):
    """E6."""
    later(add_note)
    Store(path, clock).close()

    copy = path.with_name(f"store.db.form{NEWEST}")
    assert list_modes([copy]) == {0o600}
    assert schema_version(copy) == NEWEST
    db = sqlite3.connect(copy)
    assert db.execute("SELECT content FROM record").fetchall() == [("one",)]
    db.close()


def test_a_copy_left_from_before_is_replaced(path: Path, clock: FakeClock, later):
    """E6."""
    copy = path.with_name(f"store.db.form{NEWEST}")
    copy.write_bytes(b"left from a step that failed")
    later(add_note)

    Store(path, clock).close()

    assert schema_version(copy) == NEWEST


def test_a_store_of_the_newest_form_is_not_copied(path: Path, clock: FakeClock):
    Store(path, clock).close()

    assert {file.name for file in path.parent.iterdir()} == {"store.db", "writer.lock"}


def test_a_failing_step_leaves_the_old_form_whole(path: Path, clock: FakeClock):
    """E6."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("x", fail_halfway)])
        with pytest.raises(StoreUnusable, match="nowhere"):
            Store(path, clock)

    with StoreHarness(path, clock) as shelf:
        columns = [row[1] for row in shelf.execute("PRAGMA table_info(record)")]
        assert "note" not in columns
        assert shelf.contents() == ["one"]


def test_steps_before_a_failing_one_stand(path: Path, clock: FakeClock, later):
    """E6."""
    later(add_note, fail_halfway)
    with pytest.raises(StoreUnusable):
        Store(path, clock)

    assert schema_version(path) == NEWEST + 1


def test_a_failing_step_leaves_nothing_locked(path: Path, clock: FakeClock):
    """E6: also while somebody still holds the error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("x", fail_halfway)])
        with pytest.raises(StoreUnusable) as held:
            Store(path, clock)
    db = sqlite3.connect(path, isolation_level=None, timeout=0)

    db.execute("BEGIN IMMEDIATE")

    assert held.value
    db.close()


def test_a_step_that_fails_in_our_own_code_frees_the_lock(path: Path, clock: FakeClock):
    """E11."""

    def stumble(connection: sqlite3.Connection) -> None:
        raise ValueError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("x", stumble)])
        with pytest.raises(ValueError):  # noqa: PT011
            Store(path, clock)

    Store(path, clock).close()


def test_a_reader_refuses_an_older_form_and_says_what_helps(path: Path, later):
    """E6."""
    later(add_note)

    with pytest.raises(StoreUnusable, match="older leslied") as told:
        StoreReader(path)

    assert "leslied sync" in told.value.hint


@pytest.mark.parametrize(
    "table", ["record", "placement", "source", "session", "usage", "record_text"]
)
def test_a_new_store_has_its_tables_and_nothing_in_them(
    tmp_path: Path, clock: FakeClock, table: str
):
    with StoreHarness(tmp_path / "other" / "store.db", clock) as shelf:
        assert shelf.count(table) == 0


def test_the_store_holds_together(path: Path, clock: FakeClock):
    """E4."""
    with StoreHarness(path, clock) as shelf:
        assert shelf.execute("PRAGMA integrity_check") == [("ok",)]
        assert shelf.execute("PRAGMA foreign_key_check") == []
