"""Isolate work that fails unexpectedly, so that all other work continues.

A source, a session, a hook event or a whole stage may hit a bug or damaged data. The
failure is recorded in the store, where `leslied status` reads it, and the work is tried
again after a pause that grows with every attempt, also across restarts. Work during
which leslied was killed twice, for example because it needs too much memory, is put in
quarantine: it waits much longer, so that it does not keep everything else from running.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field

from leslied.clock import SystemClock
from leslied.errors import StoreUnusable, describe_error
from leslied.model.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.clock import Clock
    from leslied.pipeline.work_marker import WorkMarker
    from leslied.store import Store

_FIRST_PAUSE_SECONDS = 10
"""Pause after the first failure; each further pause is four times as long."""
_MAX_PAUSE_SECONDS = 3600
_QUARANTINE_AFTER_KILLS = 2
"""Kills after which work is paused. One may be a coincidence, such as a shutdown."""
_FIRST_QUARANTINE_SECONDS = 600
"""Long enough that systemd does not give up because of too many restarts."""
_MAX_QUARANTINE_SECONDS = 24 * 3600
KILLED_REASON = "leslied was killed while it read this"


class Failures(Struct, eq=False):
    """The failures of one pipeline, in the store or, without one, in memory."""

    store: Store | None = None
    clock: Clock = field(default_factory=SystemClock)
    ignores_pauses: bool = False
    """Whether to retry paused work at once, because the user ran a command."""
    marker: WorkMarker | None = None
    """Names the work in progress, so that the next start knows what leslied was killed
    during; None if that does not count as a failure."""
    _failures: dict[tuple[str, str], Failure] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.store:
            with self.store.failures() as ledger:
                self._failures = {(f.scope, f.name): f for f in ledger.list()}
        for key in self.marker.take() if self.marker else ():
            self._record_kill(key)

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
        is raised again, because no work can continue without the store. Success clears
        an earlier failure only if `is_last`, that is, if no more work of this name
        follows.
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
        attempts = self.count_attempts(scope, name) + 1
        pause = min(_FIRST_PAUSE_SECONDS * 4 ** (attempts - 1), _MAX_PAUSE_SECONDS)
        self._save(key, reason, attempts, pause)
        return reason

    def begin_work(self, scope: str, name: str) -> None:
        """Record that this work, which may get leslied killed, is in progress."""
        if self.marker:
            self.marker.add(*_make_key(scope, name))

    def end_work(self) -> None:
        """Record that no work is in progress any more."""
        if self.marker:
            self.marker.clear()

    def _record_kill(self, key: tuple[str, str]) -> None:
        """Record that leslied was killed during this work; after two kills pause it."""
        failure = self._failures.get(key)
        is_repeated = failure is not None and failure.reason == KILLED_REASON
        kills = failure.attempts + 1 if failure and is_repeated else 1
        pause = 0
        if kills >= _QUARANTINE_AFTER_KILLS:
            pause = _FIRST_QUARANTINE_SECONDS * 4 ** (kills - _QUARANTINE_AFTER_KILLS)
        self._save(key, KILLED_REASON, kills, min(pause, _MAX_QUARANTINE_SECONDS))

    def _save(
        self, key: tuple[str, str], reason: str, attempts: int, pause_seconds: int
    ) -> None:
        retry_at = self.clock.now() + timedelta(seconds=pause_seconds)
        failure = Failure(*key, reason, attempts, retry_at)
        self._failures[key] = failure
        if self.store:
            with self.store.failures() as ledger:
                ledger.save(failure)

    def clear(self, scope: str, name: str) -> None:
        """Delete the failure of this work, if there is one."""
        key = _make_key(scope, name)
        if self._failures.pop(key, None) and self.store:
            with self.store.failures() as ledger:
                ledger.delete(*key)


def _make_key(scope: str, name: str) -> tuple[str, str]:
    # A file name may contain bytes that are not UTF-8; SQLite accepts only text.
    return scope, name.encode(errors="backslashreplace").decode()
