"""The hierarchy of errors that leslied raises on purpose, and how to describe others.

LesliedError
  UserError            an invalid argument or setting: a message, no traceback, exit 2
    ConfigError        an invalid config file: exit 78, systemd does not restart
    EmptyStore         nothing has been read yet
  SourceError          a source cannot be read now: counted, shown, retried
    DecodeError        one entry cannot be decoded: rejected, reading continues
  SinkError            one output cannot be written now: retried
  StoreUnusable        the store is damaged, newer than the program, or cannot be
                       opened or written: exit 3
    SchemaMismatch     the store cannot be migrated and must be rebuilt
    StoreLost          the store's files are gone; the archive and the logs are not
    NewerStore         a newer leslied wrote the store
  AnnotationsUnusable  the user's stars, tags and notes cannot be read or written:
                       exit 3
  AlreadyRunning       another process writes to the store: exit 4

Code that cannot handle an error raises it and does not log it. The message of an error
of Python or SQLite may quote a session's text: only the functions of this module
may put it into another message, the log or the store.
"""

from __future__ import annotations

import re

_SQLITE_TEXTS = {
    1: "SQL logic error",
    3: "access permission denied",
    5: "database is locked",
    6: "database table is locked",
    7: "out of memory",
    8: "attempt to write a readonly database",
    9: "interrupted",
    10: "disk I/O error",
    11: "database disk image is malformed",
    13: "database or disk is full",
    14: "unable to open database file",
    15: "locking protocol",
    17: "database schema has changed",
    18: "string or blob too big",
    19: "constraint failed",
    20: "datatype mismatch",
    26: "file is not a database",
}
"""SQLite's fixed texts by primary error code; its full messages may quote content."""
_MISSING_NAME = re.compile(r"no such (table|column): [\w.]{1,64}\Z")
"""Message of SQLite that names a table or column, and quotes no stored text."""


class LesliedError(Exception):
    """Base of all expected errors: a message, and a hint on what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(LesliedError):
    """An invalid argument or setting."""

    exit_code = 2


class ConfigError(UserError):
    """An invalid config file."""

    exit_code = 78


class EmptyStore(UserError):  # noqa: N818 - a state, not a failure
    """Nothing has been read yet, so that there is no store, or an empty one."""

    def __init__(self) -> None:
        super().__init__("Nothing has been read yet.", "Run: leslied sync")


class SourceError(LesliedError):
    """A source cannot be read now; leslied retries."""


class DecodeError(SourceError):
    """One entry cannot be decoded."""


class SinkError(LesliedError):
    """One output cannot be written now; leslied retries."""


class StoreUnusable(LesliedError):  # noqa: N818 - a state, not a failure
    """The store is damaged, too new, or cannot be opened or written."""

    exit_code = 3


class SchemaMismatch(StoreUnusable):
    """The store does not have the tables of its schema version."""

    def __init__(self, message: str, hint: str = "", *, version: int) -> None:
        super().__init__(message, hint)
        self.version = version


class StoreLost(StoreUnusable):
    """The store's files are gone or empty; the archive and the logs are not."""


class NewerStore(StoreUnusable):
    """A newer leslied wrote the store; only updating helps."""


class AnnotationsUnusable(LesliedError):  # noqa: N818 - a state, not a failure
    """The user's stars, tags and notes cannot be read or written."""

    exit_code = 3


class AlreadyRunning(LesliedError):  # noqa: N818 - a state, not a failure
    """Another process writes to this store."""

    exit_code = 4


def describe_cause(error: BaseException) -> str:
    """Return what an error means, without text that its message may quote.

    That is the message of a LesliedError, the system's text for an OSError, SQLite's
    text for its error code, and the type of any other error.
    """
    if isinstance(error, LesliedError):
        return error.message
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if code := int(getattr(error, "sqlite_errorcode", 0)):
        if _MISSING_NAME.match(str(error)):
            return str(error)
        # The primary code is the low byte of the extended one.
        return _SQLITE_TEXTS.get(code & 0xFF, f"SQLite error {code}")
    return type(error).__name__


def describe_error(error: Exception) -> str:
    """Return the message of a LesliedError, or the type and place of another error.

    The message of an unexpected exception is left out, because it may quote a session's
    text, and the result reaches the log and the terminal.
    """
    if isinstance(error, LesliedError):
        return error.message
    kind, cause = type(error).__name__, describe_cause(error)
    detail = f" ({cause})" if cause != kind else ""
    return f"unexpected {kind}{detail}{_format_place(error)}"


def _format_place(error: Exception) -> str:
    """Return file and line of the innermost frame in leslied's own code, or ""."""
    import traceback  # noqa: PLC0415 - only for a bug
    from pathlib import Path  # noqa: PLC0415 - only for a bug

    package_folder = Path(__file__).parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(package_folder):
            return f" at {path.relative_to(package_folder)}:{frame.lineno}"
    return ""
