"""Migrate a store to the newest schema, or refuse it unchanged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from leslied.errors import NewerStore, SchemaMismatch
from leslied.store import schema

if TYPE_CHECKING:
    from pathlib import Path


def check_schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the store's schema version; raise NewerStore if it is too new."""
    newest = len(schema.MIGRATIONS)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > newest:
        raise NewerStore(
            f"The store at {path} was written by a newer leslied "
            f"(schema {version}; this version supports up to {newest}).",
            "Update leslied; nothing was changed.",
        )
    return int(version)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate the store to the newest schema; save a copy of an older store first.

    Raise SchemaMismatch, and change nothing, if the store does not have the tables of
    its schema version.
    """
    version, newest = check_schema_version(connection, path), len(schema.MIGRATIONS)
    if 0 < version < newest:
        _check_tables(connection, path, version)
        _save_backup(connection, path.with_name(f"{path.name}.form{version}"))
    _apply(connection, version)


def _apply(
    connection: sqlite3.Connection, version: int, end: int | None = None
) -> None:
    """Apply the migrations after `version` up to `end`, each in a transaction."""
    for number, (_, step) in enumerate(schema.MIGRATIONS[version:end], version + 1):
        try:
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            step(connection)
            connection.execute(f"PRAGMA user_version = {number:d}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _check_tables(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Raise SchemaMismatch if the tables are not those of the store's schema version.

    During development, versions 1 and 4 had other tables.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as expected:  # noqa: TID251
        _apply(expected, 0, version)
        if _list_columns(connection) == _list_columns(expected):
            return
    raise SchemaMismatch(
        f"The store at {path} was written by a development version of leslied and "
        f"cannot be migrated (schema {version}).",
        "Rebuild it from the archive and the logs: leslied sync",
        version=version,
    )


def _list_columns(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """List table, name, type, constraints and default of all columns.

    Omit the tables that FTS5 creates for itself: they depend on SQLite's version.
    """
    return connection.execute(
        "SELECT t.name, c.* FROM sqlite_master t, pragma_table_info(t.name) c "
        "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' "
        "AND t.name NOT LIKE 'record_text_%' ORDER BY t.name, c.cid"
    ).fetchall()


def _save_backup(connection: sqlite3.Connection, backup: Path) -> None:
    backup.unlink(missing_ok=True)
    backup.touch(mode=0o600)
    connection.execute("VACUUM INTO ?", (str(backup),))
