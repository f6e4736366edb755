"""The names of tables and columns of an agent's database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from leslied.errors import SourceError
from leslied.tail import ReadLimits
from leslied.tail.sqlite_schema import read_schema


def test_tables_and_columns_are_listed_without_views_and_virtual_tables(
    tmp_path: Path,
):
    path = tmp_path / "a.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 7")
    db.execute('CREATE TABLE "odd ""name" (a, b BLOB)')
    db.execute("CREATE VIEW v AS SELECT 1")
    db.execute("CREATE VIRTUAL TABLE f USING fts5 (x)")
    db.commit()
    db.close()

    schema = read_schema(path, tmp_path, ReadLimits())

    assert schema["user_version"] == 7
    assert schema["tables"]['odd "name'] == ["a", "b BLOB"]
    assert not {"v", "f"} & schema["tables"].keys()


def test_a_file_that_is_not_a_database_is_an_error(tmp_path: Path):
    path = tmp_path / "a.db"
    path.write_bytes(b"nothing like a database" * 100)

    with pytest.raises(SourceError, match="cannot be read as SQLite"):
        read_schema(path, tmp_path, ReadLimits())
