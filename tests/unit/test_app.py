"""The composition root opens stores of every earlier version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from leslied.app import App
from leslied.paths import get_paths
from leslied.store import StoreReader
from tests.support import old_stores
from tests.support.clock import FakeClock
from tests.support.golden import copy_home


@pytest.fixture
def app(home: Path, clock: FakeClock) -> App:
    """Return an app whose home has the log that the old stores were made from."""
    copy_home(old_stores.SESSION_CASE, home)
    environ = {"HOME": str(home)}
    return App(environ, get_paths(environ), clock)


def ignore(*_: object) -> None:
    pass


@pytest.mark.fault("E6")
@pytest.mark.parametrize("name", old_stores.NAMES)
def test_a_store_of_an_earlier_version_opens_with_its_session(app: App, name: str):
    old_stores.unpack(name, app.paths.store_file)

    app.open_store(ignore, ignore).close()

    with StoreReader(app.paths.store_file) as reader:
        (session,) = reader.list_sessions()
        records = list(reader.list_records(session.key))
    assert session.key.session_id == old_stores.SESSION_ID
    assert len(records) == 17


@pytest.mark.fault("E6")
def test_a_warning_explains_why_a_store_is_rebuilt_and_where_the_old_one_is(app: App):
    old_stores.unpack("04", app.paths.store_file)
    warnings: list[str] = []

    app.open_store(warnings.append, ignore).close()

    (warning,) = warnings
    assert "cannot be migrated" in warning
    assert "kept as store.db.form4" in warning


@pytest.mark.fault("E6")
def test_the_old_store_is_kept_when_it_is_rebuilt(app: App):
    old_stores.unpack("01a", app.paths.store_file)

    app.open_store(ignore, ignore).close()

    db = sqlite3.connect(app.paths.store_file.with_name("store.db.form1"))
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM record").fetchone() == (17,)
    db.close()


def test_a_store_that_can_be_migrated_opens_without_a_warning(app: App):
    old_stores.unpack("03", app.paths.store_file)
    warnings: list[str] = []

    app.open_store(warnings.append, ignore).close()

    assert warnings == []
