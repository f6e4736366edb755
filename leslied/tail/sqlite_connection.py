"""Open an agent's SQLite database without writing, and without running its schema.

The database is opened read-only, in a way that makes SQLite create no file beside it.
An existing shared-memory file is only read. Without one, the WAL is indexed in our own
memory; without a WAL, only the database file is read. Outside of WAL mode, the lock of
a reader would make the agent's writes fail. So no lock is taken; `read_state` shows
whether the agent wrote meanwhile. Queries reach ordinary tables only, so that no view,
trigger or virtual table runs (`docs/decisions/0041-foreign-schemas-run-nothing.md`).
The SQL function `decompress_zstd(BLOB)` returns the decompressed bytes, or NULL.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from leslied.decompression import decompress_zstd
from leslied.errors import SourceError
from leslied.tail.files import open_regular, read_at
from leslied.tail.wal import WAL, has_commit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.tail.limits import ReadLimits

SHM = "-shm"
_JOURNAL = "-journal"
# How to open a database (see above), as a parameter of its URI.
_SHARED_INDEX = "readonly_shm=1"
_OWN_INDEX = "vfs=unix-none"
_NO_WAL = "immutable=1"
CHANGED_BY_AGENT = "was opened by its agent while it was read"
_BUSY_SECONDS = 0.1
_MAX_DECOMPRESSED_BYTES = 4 * 1024 * 1024
"""Longest decompressed value; agents compress no longer ones."""
_HEADER_BYTES = 100
_VERSIONS = slice(18, 20)
"""Write and read versions in a database's header; 2 means WAL mode."""
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""How the journal of an unfinished transaction begins."""
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
    """Open the database; call `allow_tables` before any query for rows."""
    uri = f"{path.absolute().as_uri()}?mode=ro&{open_mode}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        if open_mode == _OWN_INDEX:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
        # With OFF, SQLite 3.40 refuses every table of a database that has an index over
        # JSON. `allow_tables` prevents everything that OFF would prevent.
        db.execute("PRAGMA trusted_schema = ON")
        db.execute("PRAGMA cell_size_check = ON")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_LENGTH_FACTOR * limits.line)
        db.create_function("decompress_zstd", 1, _decompress, deterministic=True)
        # Text that is not UTF-8 is left to the decoder.
        db.text_factory = bytes
        yield db


def _decompress(value: object) -> bytes | None:
    """Implement the SQL function `decompress_zstd`; None becomes NULL."""
    if not isinstance(value, bytes):
        return None
    return decompress_zstd(value, _MAX_DECOMPRESSED_BYTES)


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


def choose_open_mode(path: Path, state: bytes | None) -> str:
    """Return how to open a database without changing any file.

    `state` is what `read_state` returned: None if a process has the database open.
    """
    if state is None:
        return _SHARED_INDEX
    is_wal_mode = state[_VERSIONS] == b"\2\2"
    has_changes = is_wal_mode and has_commit(path.with_name(path.name + WAL))
    return _OWN_INDEX if has_changes else _NO_WAL


def read_state(path: Path, root: Path) -> bytes | None:
    """Return the header of a database that must be read without locks, else None.

    The result changes when the agent opens or writes such a database. It is None for a
    database in WAL mode that a process has open: locks of readers do not concern its
    writers. In all other cases, a lock would create the missing shared-memory file, or
    keep the agent from writing. Raise SourceError while the agent writes, and if SQLite
    would open something that is not a regular file.
    """
    with open_regular(path, root) as fd:
        header = read_at(fd, _HEADER_BYTES, 0)
    if header[_VERSIONS] == b"\2\2":
        starts = [_read_start(path.with_name(path.name + x), root) for x in (WAL, SHM)]
        return header if None in starts else None
    journal = path.with_name(path.name + _JOURNAL)
    if _read_start(journal, root) == _JOURNAL_MAGIC:
        raise SourceError(CHANGED_BY_AGENT)
    return header


def _read_start(path: Path, root: Path) -> bytes | None:
    """Return the first bytes of a file beside a database; None if it does not exist.

    Raise SourceError if it is not a regular file: SQLite would wait for a pipe.
    """
    try:
        with open_regular(path, root) as fd:
            return read_at(fd, len(_JOURNAL_MAGIC), 0)
    except SourceError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
