"""Open an agent's SQLite database so that nothing in it or beside it takes effect.

The database is opened read-only, and so that SQLite creates no file beside it: an
existing shared-memory file is only read, without one the WAL is indexed in our own
memory, and without a WAL only the database file is read. Queries reach ordinary tables
only, so that no view, trigger or virtual table runs
(`docs/decisions/0041-foreign-schemas-run-nothing.md`).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from leslied.tail.files import open_regular, read_at
from leslied.tail.wal import has_commit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.tail.limits import ReadLimits

WAL = "-wal"
SHM = "-shm"
# How to open a database (see above), as a parameter of its URI.
SHARED_INDEX = "readonly_shm=1"
_OWN_INDEX = "vfs=unix-none"
_NO_WAL = "immutable=1"
_BUSY_SECONDS = 0.1
_WRITE_VERSION_OFFSET = 18
"""Offset of the write and read versions in a database's header; 2 means WAL mode."""
_MAX_LENGTH_FACTOR = 4
"""SQLite's length limit as a multiple of the longest entry that is parsed. Longer
entries must be readable, so that they can be rejected with their length."""
_QUERY_ACTIONS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


@contextmanager
def open_read_only(
    path: Path, open_mode: str, limits: ReadLimits
) -> Iterator[sqlite3.Connection]:
    """Open the database; call `allow_tables` before any other query."""
    uri = f"{path.absolute().as_uri()}?mode=ro&{open_mode}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        if open_mode == _OWN_INDEX:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
        # With OFF, SQLite 3.40 refuses every table of a database that has an index over
        # JSON. What OFF prevents, `allow_tables` prevents, too.
        db.execute("PRAGMA trusted_schema = ON")
        db.execute("PRAGMA cell_size_check = ON")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_LENGTH_FACTOR * limits.line)
        # Text that is not UTF-8 is left to the decoder.
        db.text_factory = bytes
        yield db


def allow_tables(db: sqlite3.Connection) -> set[str]:
    """Restrict the connection to reads of ordinary tables, and return their names."""
    # A virtual table has no page of its own.
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    tables = {row[0].decode(errors="replace") for row in db.execute(query)}

    def authorize(action: int, name: str | None, *_: str | None) -> int:
        is_table = action == sqlite3.SQLITE_READ and name in tables
        is_allowed = is_table or action in _QUERY_ACTIONS
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    db.set_authorizer(authorize)
    return tables


def choose_open_mode(path: Path) -> str:
    """Return how to open the database without changing any file beside it."""
    if not is_closed_wal_database(path):
        return SHARED_INDEX
    return _OWN_INDEX if has_commit(path.with_name(path.name + WAL)) else _NO_WAL


def is_closed_wal_database(path: Path) -> bool:
    """Return whether no process has the database, which is in WAL mode, open.

    No lock is needed then, and taking one would create the missing file.
    """
    with open_regular(path) as fd:
        is_wal_mode = read_at(fd, 2, _WRITE_VERSION_OFFSET) == b"\2\2"
    wal_files = (path.with_name(path.name + suffix) for suffix in (WAL, SHM))
    return is_wal_mode and not all(file.exists() for file in wal_files)
