"""Open the SQLite file: one writer under a lock, and read-only readers.

The store and its lock file are created with mode 0600.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from leslied.errors import (
    AlreadyRunning,
    EmptyStore,
    LesliedError,
    NewerStore,
    StoreUnusable,
    describe_cause,
)
from leslied.failpoints import failpoint
from leslied.fs import make_private_dir
from leslied.machine import claim_folder
from leslied.store.migrate import check_schema_version, migrate
from leslied.store.schema import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leslied.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")

_BUSY_TIMEOUT_MS = 5000
_AUTOMERGE_SEGMENTS = 4
"""Number of text index segments that are merged at once; SQLite's own default."""
_CACHE_KIB = 4096
_BULK_LOAD_CACHE_KIB = 16384
_JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024
_CHECKPOINT_PAGES = 1000
"""Size of the write-ahead log that starts a checkpoint; SQLite's own default."""
_BULK_LOAD_CHECKPOINT_PAGES = 4000
_MAX_LOCK_INFO_BYTES = 4096
UNLIMITED_INDEX_KEY = "unlimited_index_until"
"""Key in `meta` of the last record that was indexed without a limit on its text."""


def open_writer(path: Path) -> sqlite3.Connection:
    """Open the store for writing; create it or migrate it to the newest schema."""
    try:
        make_private_dir(path.parent)
        create_private_file(path)
        connection = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise make_unusable_error(path, error) from error
    try:
        check_schema_version(connection, path)
        _set_pragmas(connection)
        migrate(connection, path)
        end_bulk_load(connection)
        _save_last_unlimited_id(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise make_unusable_error(path, error) from error
        raise
    return connection


def create_private_file(path: Path) -> None:
    """Create a file that only its owner can access, unless it exists."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    path.chmod(0o600)


def connect(path: Path) -> sqlite3.Connection:
    """Open a database with SQLite's own settings."""
    return sqlite3.connect(path, isolation_level=None)


def _save_last_unlimited_id(connection: sqlite3.Connection) -> None:
    """Save, once, the id of the last record that was indexed without a length limit.

    Older versions of leslied indexed texts of any length, so this is the last record in
    the store when a version with a limit opens it for the first time.
    """
    connection.execute(
        "INSERT INTO meta SELECT ?1, (SELECT ifnull(max(id), 0) FROM record) "
        "WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = ?1)",
        (UNLIMITED_INDEX_KEY,),
    )


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the store read-only; raise EmptyStore if it is missing or empty."""
    if not path.exists():
        raise EmptyStore
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise make_unusable_error(path, error) from error
    try:
        connection.execute("PRAGMA query_only = 1")
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        _check_schema_is_current(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise make_unusable_error(path, error) from error
    except LesliedError:
        connection.close()
        raise
    return connection


def _check_schema_is_current(connection: sqlite3.Connection, path: Path) -> None:
    """Raise EmptyStore for an empty store, StoreUnusable for another schema version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        raise EmptyStore
    written_by = f"The store at {path} was written by"
    if version > len(MIGRATIONS):
        raise NewerStore(f"{written_by} a newer leslied.", "Update leslied.")
    if version < len(MIGRATIONS):
        raise StoreUnusable(f"{written_by} an older leslied.", "Run: leslied sync")


def lock_store(path: Path, clock: Clock) -> int:
    """Take the writer lock and return its descriptor; closing it releases the lock.

    Raise AlreadyRunning if another process holds the lock, and UserError if the folder
    belongs to another machine.
    """
    lock_path = path.with_name("writer.lock")
    try:
        claim_folder(path.parent)
        make_private_dir(path.parent)
        fd = os.open(lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise make_unusable_error(path, error) from error
    try:
        _acquire_lock(fd, clock)
    except OSError as error:
        # Only the daemon writes its process id into the lock file.
        is_daemon = b"pid" in os.pread(fd, _MAX_LOCK_INFO_BYTES, 0)
        os.close(fd)
        hint = "Wait for it to end, or see: leslied status"
        if is_daemon:
            hint = (
                "It is the daemon, which reads new entries by itself (if it is paused: "
                "`leslied unpause`). Stop it before other work on the store."
            )
        raise AlreadyRunning(f"Another leslied is writing to {path}.", hint) from error
    # A daemon may have left its state behind, which is not that of this process.
    os.ftruncate(fd, 0)
    return fd


def _acquire_lock(fd: int, clock: Clock) -> None:
    """Take the exclusive lock; retry while other processes only probe it.

    Raise BlockingIOError if another process holds the lock.
    """
    for delay_seconds in (0.01, 0.02, 0.05):
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        # A shared lock can be taken beside the shared lock of `read_lock_info`. Beside
        # the exclusive lock of a writer, this raises.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(fd, fcntl.LOCK_UN)
        clock.sleep(delay_seconds)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_lock_info(fd: int, text: str) -> None:
    """Write into the lock file who holds the lock; `text` is one line."""
    line = text.encode() + b"\n"
    # The rest of a longer text is cut off afterwards, so that readers always find a
    # whole line.
    os.pwrite(fd, line, 0)
    os.ftruncate(fd, len(line))


def read_lock_info(path: Path) -> str | None:
    """Read what the holder of the lock wrote; return None if nobody holds it."""
    try:
        fd = os.open(path.with_name("writer.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        info, _, _ = os.pread(fd, _MAX_LOCK_INFO_BYTES, 0).partition(b"\n")
        return info.decode(errors="replace")
    finally:
        os.close(fd)
    return None


def _set_pragmas(connection: sqlite3.Connection) -> None:
    for pragma in (
        f"busy_timeout = {_BUSY_TIMEOUT_MS}",
        "page_size = 8192",
        "journal_mode = WAL",
        "synchronous = FULL",
        "temp_store = MEMORY",
        f"cache_size = -{_CACHE_KIB}",
        f"journal_size_limit = {_JOURNAL_LIMIT_BYTES}",
        "trusted_schema = OFF",
    ):
        connection.execute(f"PRAGMA {pragma}")


def begin_bulk_load(connection: sqlite3.Connection) -> None:
    """Make commits fast; after a power loss the last commits must be repeated."""
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_BULK_LOAD_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA cache_size = -{_BULK_LOAD_CACHE_KIB}")
    # 0 turns off the merging of text index segments.
    _set_automerge(connection, 0)


def end_bulk_load(connection: sqlite3.Connection) -> None:
    """Restore the durable settings, also those that a killed bulk load left behind."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute("PRAGMA shrink_memory")
    query = "SELECT v FROM record_text_config WHERE k = 'automerge'"
    if connection.execute(query).fetchone() not in (None, (_AUTOMERGE_SEGMENTS,)):
        _set_automerge(connection, _AUTOMERGE_SEGMENTS)


def vacuum(connection: sqlite3.Connection) -> bool:
    """Rewrite the file and the text index without deleted content.

    Return False if a reader still holds the old content in the write-ahead log.
    """
    connection.execute("INSERT INTO record_text (record_text) VALUES ('optimize')")
    failpoint("shrink.half")
    # VACUUM makes a temporary copy of the whole store, which may not fit in memory.
    connection.execute("PRAGMA temp_store = FILE")
    try:
        connection.execute("VACUUM")
        query = "PRAGMA wal_checkpoint(TRUNCATE)"
        is_blocked, *_ = connection.execute(query).fetchone()
        return not is_blocked
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")


def _set_automerge(connection: sqlite3.Connection, segments: int) -> None:
    connection.execute(
        "INSERT INTO record_text (record_text, rank) VALUES ('automerge', ?)",
        (segments,),
    )


def make_unusable_error(path: Path, error: Exception) -> StoreUnusable:
    """Return the error for a store that cannot be opened, read or written."""
    hint = "Check the folder, its permissions and the space on the disk."
    code = get_primary_code(error)
    # Python's module raises an error without a code for a text that is not UTF-8.
    is_damaged_text = isinstance(error, sqlite3.OperationalError) and not code
    if code == sqlite3.SQLITE_CORRUPT or is_damaged_text:
        hint = "See what is damaged: leslied doctor. Repair it: leslied rebuild"
    if code == sqlite3.SQLITE_NOTADB:
        hint = "Rebuild it from the archive and the logs: leslied rebuild"
    cause = "a text is damaged" if is_damaged_text else describe_cause(error)
    if isinstance(error, sqlite3.ProgrammingError):
        # This error says how the connection was misused, and quotes no text.
        cause = str(error)
    return StoreUnusable(f"The store at {path} cannot be used: {cause}.", hint)


def get_primary_code(error: Exception) -> int:
    """Return SQLite's primary error code, or 0 if the error is not from SQLite."""
    # The primary code is the low byte of the extended code.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def translate_sqlite_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Make a method raise StoreUnusable instead of SQLite's errors.

    The method's object must have the store's `path` as an attribute.
    """

    @wraps(method)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except sqlite3.DatabaseError as error:
            owner: Any = args[0]
            raise make_unusable_error(owner.path, error) from error

    return wrapper
