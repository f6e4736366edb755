"""Opening the one SQLite file: one writer, read-only readers, private to its owner."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from typing import TYPE_CHECKING

from leslied.errors import AlreadyRunning, LesliedError, StoreUnusable, UserError
from leslied.paths import make_private_dir
from leslied.store.schema import MIGRATIONS, migrate

if TYPE_CHECKING:
    from pathlib import Path

_BUSY_MS = 5000
_JOURNAL_LIMIT = 64 * 1024 * 1024


def open_writer(path: Path) -> sqlite3.Connection:
    """The connection that may write, on a store of the newest form, mode 0600."""
    try:
        make_private_dir(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
        connection = sqlite3.connect(path, isolation_level=None)
        _tune(connection)
        migrate(connection, path)
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from error
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot change anything."""
    if not path.exists():
        raise _nothing_yet()
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    try:
        connection.execute("PRAGMA query_only = 1")
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        _check_form(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise _unusable(path, error) from error
    except LesliedError:
        connection.close()
        raise
    return connection


def _check_form(connection: sqlite3.Connection, path: Path) -> None:
    (form,) = connection.execute("PRAGMA user_version").fetchone()
    if form == 0:
        raise _nothing_yet()
    if form != len(MIGRATIONS):
        side = "a newer" if form > len(MIGRATIONS) else "an older"
        raise StoreUnusable(
            f"The store at {path} was written by {side} leslied.",
            "Update leslied, or run: leslied sync",
        )


def _nothing_yet() -> UserError:
    return UserError("Nothing has been read yet.", "Run: leslied sync")


def lock_store(path: Path) -> int:
    """A descriptor that holds the right to write, for as long as it is open."""
    make_private_dir(path.parent)
    name = path.with_name("writer.lock")
    fd = os.open(name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise AlreadyRunning(
            f"Another leslied is writing to {path}.",
            "Wait for it to end, or see: leslied status",
        ) from error
    return fd


def _tune(connection: sqlite3.Connection) -> None:
    for pragma in (
        f"busy_timeout = {_BUSY_MS}",
        "page_size = 8192",
        "journal_mode = WAL",
        "synchronous = FULL",
        "temp_store = MEMORY",
        "cache_size = -16384",
        f"journal_size_limit = {_JOURNAL_LIMIT}",
        "trusted_schema = OFF",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _unusable(path: Path, error: Exception) -> StoreUnusable:
    return StoreUnusable(
        f"The store at {path} cannot be used: {error}.",
        "Move it aside and run: leslied sync",
    )
