"""Read the names of tables and columns of an agent's database, but no row."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from leslied.errors import SourceError, describe_cause
from leslied.tail.sqlite_connection import choose_open_mode, open_read_only, read_state

if TYPE_CHECKING:
    from pathlib import Path

    from leslied.tail.limits import ReadLimits

_MAX_TABLES = 500
_MAX_COLUMNS = 500


def read_schema(path: Path, root: Path, limits: ReadLimits) -> dict[str, Any]:
    """Return `user_version`, and the columns of each table with their types.

    Raise SourceError if the file is not a database that can be read now.
    """
    try:
        open_mode = choose_open_mode(path, read_state(path, root))
        with open_read_only(path, open_mode, limits) as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            query = (
                "SELECT name FROM sqlite_schema "
                "WHERE type = 'table' AND rootpage > 0 ORDER BY name LIMIT ?"
            )
            names = [name for (name,) in db.execute(query, (_MAX_TABLES,))]
            tables = {_to_text(name): _list_columns(db, name) for name in names}
    except sqlite3.Error as error:
        reason = describe_cause(error)
        raise SourceError(f"cannot be read as SQLite: {reason}") from error
    return {"user_version": version, "tables": tables}


def _list_columns(db: sqlite3.Connection, table: bytes) -> list[str]:
    query = "SELECT name, type FROM pragma_table_info(CAST(? AS TEXT)) LIMIT ?"
    rows = db.execute(query, (table, _MAX_COLUMNS))
    return [f"{_to_text(name)} {_to_text(type_)}".rstrip() for name, type_ in rows]


def _to_text(value: bytes) -> str:
    return value.decode(errors="replace")
