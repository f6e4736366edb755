"""The hierarchy of errors that leslied raises on purpose.

LesliedError
  UserError            an invalid argument or setting: a message, no traceback, exit 2
    ConfigError        an invalid config file: exit 78, systemd does not restart
  SourceError          a source cannot be read now: counted, shown, retried
    DecodeError        one entry cannot be decoded: rejected, reading continues
  SinkError            one output cannot be written now: retried
  StoreUnusable        the store is damaged, newer than the program, or cannot be
                       opened or written: exit 3
    SchemaMismatch     the store cannot be migrated and must be rebuilt
    StoreLost          the store's files are gone, but not what they contained
    NewerStore         a newer leslied wrote the store
  AnnotationsUnusable  the user's stars, tags and notes cannot be read or written:
                       exit 3
  AlreadyRunning       another process writes to the store: exit 4

Code that cannot handle an error raises it and does not log it.
"""

from __future__ import annotations


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
