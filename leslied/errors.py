"""The error tree.

LesliedError
  UserError            a wrong argument or setting: one sentence, no traceback, exit 2
    ConfigError        the config file: exit 78, so that a service manager gives up
  SourceError          a source cannot be read now: counted, shown, tried again
    DecodeError        one entry makes no sense: rejected, reading goes on
  SinkError            one output cannot be written now: tried again
  StoreUnusable        the store is broken or newer than the program: exit 3
  AlreadyRunning       another leslied holds the store: exit 4

An error is handled on the floor that can decide; below it is raised, never logged.
"""

from __future__ import annotations


class LesliedError(Exception):
    """Anything leslied raises on purpose: a sentence, and what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(LesliedError):
    """The person asked for something that cannot be."""

    exit_code = 2


class ConfigError(UserError):
    """The config file cannot be used as it is."""

    exit_code = 78


class SourceError(LesliedError):
    """A source cannot be read now; it will be tried again."""


class DecodeError(SourceError):
    """One entry cannot be understood."""


class SinkError(LesliedError):
    """One output cannot be written now; it will be tried again."""


class StoreUnusable(LesliedError):  # noqa: N818 - a state, not an accident
    """The store cannot be opened or written."""

    exit_code = 3


class AlreadyRunning(LesliedError):  # noqa: N818 - a state, not an accident
    """Another process writes to this store."""

    exit_code = 4
