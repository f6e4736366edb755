"""Released migrations are never changed, and lead to one schema."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leslied.errors import SchemaMismatch
from leslied.store import Store, schema
from tests.support import old_stores
from tests.support.clock import FakeClock

RELEASED = {
    "create": "28e1bd1391f6293d",
    "archive": "efa6a85a0dd64d15",
    "relations": "3b5182735d2522f2",
    "index": "ce1cb22659d44997",
    "published": "21c5f65c1525a22a",
    "prices": "950be996b39f5fc1",
    "times": "ecf081e407d7086c",
    "pruned": "3852eedbf2a64200",
    "failures": "d6b233830de83370",
    "live": "d7bc615eed7eddf8",
    "repair indexes": "5748c57890d92155",
    "decoder versions": "022daf3d20a4b65a",
    "projects": "1e77ab4959fb6601",
    "forks": "31f5494178f39bfe",
    "rejected times": "fbc0c626c1417dd4",
    "waiting": "79717a73f2287ce0",
    "archive checks": "93312666d957bb68",
    "unknown records": "74ece9cf995b4342",
}
"""Hash of the SQL of each released migration. Add new ones; never change one."""
NEVER_WRITTEN = {5}
"""Schema versions that no commit had as its newest."""
REBUILT = {"01a", "01b", "01c", "01d", "01e", "04"}
"""Stores whose migrations were changed later."""


class RecordingConnection:
    """Record the SQL of a migration instead of running it."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, sql: str) -> None:
        self.statements.append(sql)

    executescript = execute


def hash_migration(step: Any) -> str:
    """Return a hash of a migration's SQL without comments and line breaks."""
    connection = RecordingConnection()
    step(connection)
    sql = re.sub(r"--.*", "", "\n".join(connection.statements))
    return hashlib.sha256(" ".join(sql.split()).encode()).hexdigest()[:16]


def list_schema(path: Path) -> list[tuple[str, ...]]:
    """List tables with their columns, and indexes with their SQL."""
    db = sqlite3.connect(path)
    columns = db.execute(
        "SELECT t.name, c.* FROM sqlite_master t, pragma_table_info(t.name) c "
        "WHERE t.type = 'table' ORDER BY 1, 2"
    ).fetchall()
    indexes = db.execute(
        "SELECT name, replace(sql, 'IF NOT EXISTS ', '') FROM sqlite_master "
        "WHERE type = 'index' ORDER BY 1"
    ).fetchall()
    db.close()
    return columns + indexes


def test_released_migrations_are_unchanged():
    hashes = {name: hash_migration(step) for name, step in schema.MIGRATIONS}

    assert hashes == RELEASED


def test_every_schema_version_has_a_store_among_the_fixtures():
    versions = {old_stores.get_version(name) for name in old_stores.NAMES}

    assert versions | NEVER_WRITTEN == set(range(1, len(schema.MIGRATIONS) + 1))


@pytest.mark.fault("E6")
@pytest.mark.parametrize("name", sorted(set(old_stores.NAMES) - REBUILT))
def test_a_migrated_store_has_the_schema_of_a_new_one(
    tmp_path: Path, clock: FakeClock, name: str
):
    path = old_stores.unpack(name, tmp_path / "old" / "store.db")
    Store(path, clock).close()
    new = tmp_path / "new" / "store.db"
    Store(new, clock).close()

    assert list_schema(path) == list_schema(new)


@pytest.mark.fault("E6")
@pytest.mark.parametrize("name", sorted(REBUILT))
def test_a_store_whose_migrations_were_changed_is_refused_unchanged(
    tmp_path: Path, clock: FakeClock, name: str
):
    path = old_stores.unpack(name, tmp_path / "store.db")
    before = list_schema(path)

    with pytest.raises(SchemaMismatch) as raised:
        Store(path, clock)

    assert raised.value.version == old_stores.get_version(name)
    assert list_schema(path) == before
