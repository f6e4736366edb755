"""Isolate work that fails unexpectedly, so that all other work continues.

A source, a session, a hook event or a whole stage may hit a bug or damaged data. The
failure is recorded in the store, where `leslied status` reads it, and the work is tried
again after a pause that grows with every attempt, also across restarts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.clock import SystemClock
from leslied.errors import LesliedError, StoreUnusable
from leslied.model.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.clock import Clock
    from leslied.store import Store

_FIRST_PAUSE_SECONDS = 10
"""Pause after the first failure; each further pause is four times as long."""
_MAX_PAUSE_SECONDS = 3600
_PACKAGE_FOLDER = Path(__file__).parent.parent


@dataclass(slots=True, eq=False, repr=False)
class Failures:
    """The failures of one pipeline, in the store or, without one, in memory."""

    store: Store | None = None
    clock: Clock = field(default_factory=SystemClock)
    ignores_pauses: bool = False
    """Whether to retry paused work at once, because the user ran a command."""
    _failures: dict[tuple[str, str], Failure] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.store:
            with self.store.failures() as ledger:
                self._failures = {(f.scope, f.name): f for f in ledger.list()}

    def attempt(
        self,
        scope: str,
        name: str,
        work: Callable[[], object],
        errors: dict[str, str],
        *,
        is_last: bool = True,
    ) -> bool:
        """Run `work` unless it is paused; return whether it succeeded.

        An exception is recorded and added to `errors` under `name`. Only StoreUnusable
        is raised again, because no work can continue without the store. Success ends an
        earlier failure, unless the work is not the last of that name.
        """
        if self.is_paused(scope, name):
            return False
        try:
            work()
        except StoreUnusable:
            raise
        except Exception as error:  # noqa: BLE001 - any bug ends this work only
            errors[name] = self.record(scope, name, describe_error(error))
            return False
        if is_last:
            self.clear(scope, name)
        return True

    def is_paused(self, scope: str, name: str) -> bool:
        """Return whether this work failed and its pause has not ended."""
        failure = self._failures.get(_make_key(scope, name))
        if failure is None or self.ignores_pauses:
            return False
        return self.clock.now() < failure.retry_at

    def count_attempts(self, scope: str, name: str) -> int:
        """Return how many attempts of this work have failed in a row."""
        failure = self._failures.get(_make_key(scope, name))
        return failure.attempts if failure else 0

    def list_names(self, scope: str) -> list[str]:
        """Return the names of all failed work in a scope, paused or not."""
        return [name for key_scope, name in self._failures if key_scope == scope]

    def record(self, scope: str, name: str, reason: str) -> str:
        """Record that this work failed, lengthen its pause, and return the reason."""
        key = _make_key(scope, name)
        previous = self._failures.get(key)
        attempts = previous.attempts + 1 if previous else 1
        pause = min(_FIRST_PAUSE_SECONDS * 4 ** (attempts - 1), _MAX_PAUSE_SECONDS)
        retry_at = self.clock.now() + timedelta(seconds=pause)
        failure = Failure(*key, reason, attempts, retry_at)
        self._failures[key] = failure
        if self.store:
            with self.store.failures() as ledger:
                ledger.save(failure)
        return reason

    def clear(self, scope: str, name: str) -> None:
        """Delete the failure of this work, if there is one."""
        key = _make_key(scope, name)
        if self._failures.pop(key, None) and self.store:
            with self.store.failures() as ledger:
                ledger.delete(*key)


def describe_error(error: Exception) -> str:
    """Return the message of a LesliedError, or the type and place of another error.

    The message of an unexpected exception is left out, because it may quote a session's
    text, and the result reaches the log and the terminal.
    """
    if isinstance(error, LesliedError):
        return error.message
    detail = f" ({error.strerror})" if isinstance(error, OSError) else ""
    return f"unexpected {type(error).__name__}{detail}{_format_place(error)}"


def _format_place(error: Exception) -> str:
    """Return file and line of the innermost frame in leslied's own code, or ""."""
    import traceback  # noqa: PLC0415 - only for a bug

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE_FOLDER):
            return f" at {path.relative_to(_PACKAGE_FOLDER)}:{frame.lineno}"
    return ""


def _make_key(scope: str, name: str) -> tuple[str, str]:
    # A file name may contain bytes that are not UTF-8; SQLite accepts only text.
    return scope, name.encode(errors="backslashreplace").decode()
