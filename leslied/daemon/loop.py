"""The daemon's main loop: read changed files at once, scan everything now and then."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from leslied.errors import LesliedError, StoreLost, UserError, describe_error
from leslied.pipeline import Budget, LogEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from structlog.typing import FilteringBoundLogger

    from leslied.clock import Clock
    from leslied.daemon.notify import Notifier
    from leslied.pipeline import Flow
    from leslied.tail.watch import Watcher, WatchProblem

SCAN_INTERVAL_SECONDS = 30.0
"""Seconds between two scans of all sources while file events arrive."""
POLL_INTERVAL_SECONDS = 10.0
"""Seconds between two scans where no file events arrive."""
_MAX_PAUSE_SECONDS = 0.05
"""Longest pause after handling changed files. A pause is as long as the work before it:
a busy agent then costs at most half of a core, its entries are read in larger batches,
and the first line after silence never waits."""
_GRACE_SECONDS = 0.2
"""Time in which new entries do not interrupt a run that itself began with new entries.
They interrupt any other run at once."""
_TICK_SECONDS = 0.5
"""Longest wait for events: finished units are detected at least this often."""
_IDLE_TICK_SECONDS = 2.5
"""Longest wait for events while all expected work is announced by events."""
_IDLE_AFTER_SECONDS = 15.0
"""Time without changes after which ticks may be longer. Until then, short ticks detect
that a process has ended or a unit is finished."""
_BUDGET = Budget(
    max_sessions=50,
    max_indexed_threads=10,
    max_exported_sessions=5,
    max_archived_sources=200,
    max_redecoded_bytes=2 * 1024 * 1024,
    max_checked_threads=500,
    max_verified_bytes=32 * 1024 * 1024,
)
"""Work of one iteration: reading must not wait long for writing."""
_RETRY_SECONDS = 5.0
"""Pause after an error that no stage handled."""
_MAX_GAP_SECONDS = 2.0
"""If a wait takes longer than planned by more than this, the process was frozen or the
machine slept; file events may be lost then."""


@dataclass(slots=True, kw_only=True)
class Loop:
    """The daemon's loop, in one thread; the watcher's threads only mark dirty paths."""

    flow: Flow
    make_flow: Callable[[], Flow]
    """Makes a flow from the current settings."""
    watcher: Watcher
    clock: Clock
    log: FilteringBoundLogger
    notifier: Notifier
    is_paused: Callable[[], bool] = lambda: False
    """Returns whether the user paused the daemon."""
    publish: Callable[[WatchProblem | None, datetime | None], None] = lambda *_: None
    """Publishes, for other processes, that the daemon is running, why file events are
    missing, and when the last complete scan started."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set to end the loop; may be set before `run` is called."""
    has_ended: bool = False
    """Whether the loop has ended. The cleanup that follows must not be interrupted."""
    _next_scan: float = 0.0
    """Monotonic time of the next scan."""
    _last_change: float = 0.0
    """Monotonic time of the last change of a file."""
    _next_due_at: datetime | None = None
    """When work becomes due that no file event will announce; None if never."""
    _watch_problem: WatchProblem | None = None
    """Why file events are missing, as it was logged last."""
    _clock_offset: float | None = None
    """Wall-clock time minus monotonic time; it changes while the machine sleeps."""
    _logged: dict[tuple[str, str], object] = field(default_factory=dict)
    """Fields of the last logged warning, by event name and subject."""

    def request_scan(self) -> None:
        """Wake the loop to scan with new settings, or to end if `stopping` is set."""
        self._next_scan = 0.0
        self.watcher.wake()

    def run(self) -> None:
        """Run the flow at every change and every scan until `stopping` is set."""
        self.publish(None, None)
        self.watcher.start()
        self.log.info("daemon.start", folders=len(self.flow.watched_roots))
        self.notifier.ready()
        try:
            while not self.stopping.is_set():
                if self._run_once():
                    self.notifier.ping()
        finally:
            self.has_ended = True
            self.notifier.stopping()
            self.watcher.stop()
            with suppress(LesliedError):
                self.flow.close()
            self.log.info("daemon.stop")

    def _run_once(self) -> bool:
        """Run the flow at a scan or after waiting for changes; only wait if paused.

        Return False after an error that no stage handled. Raise StoreLost if the store
        was removed.
        """
        if self.is_paused():
            self.watcher.wait(_TICK_SECONDS)
            self._next_scan = 0.0
            return True
        try:
            if self.clock.monotonic() >= self._next_scan:
                self._scan()
            else:
                self._handle_changes()
        except StoreLost:
            raise
        except Exception as error:  # noqa: BLE001 - the loop outlives every error
            # The disk may be full or the store busy. Nothing is lost by waiting.
            reason = describe_error(error)
            self.log.error("daemon.retry", reason=reason)  # noqa: TRY400
            self._next_scan = 0.0
            self.clock.wait(self.stopping, _RETRY_SECONDS)
            return False
        return True

    def _scan(self) -> None:
        """Reload settings and check everything for changes."""
        started_at, scanned_at = self.clock.monotonic(), self.clock.now()
        # Set before the scan, so that a request for another one is not overwritten.
        self._next_scan = started_at + SCAN_INTERVAL_SECONDS
        self.flow.store.files.check()
        self._attempt("config", self._reload_flow)
        self._attempt("watch", self._refresh_watcher)
        self._run_flow(_BUDGET)
        if self.watcher.mode != "events":
            self._next_scan = min(self._next_scan, started_at + POLL_INTERVAL_SECONDS)
        self.publish(self._watch_problem, scanned_at)

    def _handle_changes(self) -> None:
        """Wait for file events, at most one tick, and handle the changed files."""
        changed_paths: set[Path] = set()
        if not self._attempt("watch", partial(self._wait_for_events, changed_paths)):
            self.clock.wait(self.stopping, _TICK_SECONDS)
        # While agents are busy, only their new entries are urgent.
        is_busy = bool(changed_paths)
        started_at = self.clock.monotonic()
        self._run_flow(
            replace(_BUDGET, changed_paths=changed_paths, includes_backlog=not is_busy)
        )
        # Pause as long as the run took, so that a busy agent costs half a core at most.
        if is_busy and not self.flow.has_urgent_work:
            seconds = self.clock.monotonic() - started_at
            self.clock.wait(self.stopping, min(seconds, _MAX_PAUSE_SECONDS))

    def _wait_for_events(self, changed_paths: set[Path]) -> None:
        """Wait for changes, at most until the next tick, scan or due work.

        Add the changed paths to `changed_paths`.
        """
        waits = [self._get_tick(), self._next_scan - self.clock.monotonic()]
        if self._next_due_at is not None:
            waits.append((self._next_due_at - self.clock.now()).total_seconds())
        if self.flow.has_urgent_work:
            waits.append(0.0)
        seconds = max(min(waits), 0.0)
        started_at = self.clock.monotonic()
        changes = self.watcher.wait(seconds)
        changed_paths.update(changes.paths)
        if changes.paths:
            self._last_change = self.clock.monotonic()
        was_frozen = self.clock.monotonic() - started_at > seconds + _MAX_GAP_SECONDS
        if changes.needs_scan or was_frozen or self._has_clock_jumped():
            self._next_scan = 0.0

    def _has_clock_jumped(self) -> bool:
        """Return whether one clock went on without the other: the machine slept.

        Each call compares with the previous one.
        """
        previous = self._clock_offset
        self._clock_offset = self.clock.now().timestamp() - self.clock.monotonic()
        if previous is None:
            return False
        return abs(self._clock_offset - previous) > _MAX_GAP_SECONDS

    def _get_tick(self) -> float:
        """Return the longest wait for events; each tick costs about a millisecond."""
        quiet_seconds = self.clock.monotonic() - self._last_change
        if self.flow.is_idle and quiet_seconds > _IDLE_AFTER_SECONDS:
            return _IDLE_TICK_SECONDS
        return _TICK_SECONDS

    def _reload_flow(self) -> None:
        """Apply the current settings; if they are invalid, log why and keep the old."""
        try:
            flow = self.make_flow()
        except UserError as error:
            self._warn(LogEvent("config.invalid", {"reason": error.message}))
            return
        flow.adopt(self.flow)
        self.flow = flow
        self.watcher.set_roots(flow.watched_roots)

    def _refresh_watcher(self) -> None:
        """Watch the folders that exist now; report when events stop or arrive again."""
        self.watcher.refresh()
        problem, previous = self.watcher.find_problem(), self._watch_problem
        if problem:
            seconds = f"{POLL_INTERVAL_SECONDS:.0f} seconds"
            reason = f"{problem.reason}; changes are seen every {seconds}"
            problem = problem._replace(reason=reason)
        self._watch_problem = problem
        if previous and not problem:
            self.log.warning("watch.refresh", reason="file events arrive again")
        # The reason may contain a number of folders, which may change at every scan, so
        # log it again only if the hint has changed.
        if problem and (previous is None or previous.hint != problem.hint):
            self.log.warning("watch.refresh", **problem._asdict())

    def _run_flow(self, budget: Budget) -> None:
        """Run the stages and log what they did.

        If the run begins with new entries, more of them do not interrupt it at once.
        """
        grace_seconds = _GRACE_SECONDS if budget.changed_paths else 0.0
        grace_end = self.clock.monotonic() + grace_seconds
        report = self.flow.run(
            replace(
                budget,
                should_yield=partial(self._should_yield, grace_end),
                is_stopping=self.stopping.is_set,
            )
        )
        self._next_due_at = report.find_next_due_time()
        self._log_failures(report.failures)
        if any(each.needs_reload for each in report.reports):
            self._next_scan = 0.0
        for event in (e for each in report.reports for e in each.list_events()):
            if event.is_warning:
                self._warn(event)
            else:
                self.log.info(event.name, **event.fields)

    def _should_yield(self, grace_end: float) -> bool:
        """Return whether the rest of a run must wait, because of new entries or a stop.

        Until `grace_end`, it is the new entries that wait: other work must go on, too.
        """
        if self.stopping.is_set():
            return True
        return self.watcher.has_changes() and self.clock.monotonic() >= grace_end

    def _attempt(self, name: str, work: Callable[[], object]) -> bool:
        """Do work of the loop itself as if it were a stage.

        Record and log a failure; return whether the work succeeded.
        """
        failures: dict[str, str] = {}
        has_succeeded = self.flow.failures.attempt("stage", name, work, failures)
        self._log_failures(failures)
        return has_succeeded

    def _log_failures(self, failures: Mapping[str, str]) -> None:
        for name, reason in failures.items():
            self._warn(LogEvent("stage.fail", {"name": name, "reason": reason}))

    def _warn(self, event: LogEvent) -> None:
        """Log a warning once, and again only when its reason changes."""
        subject = str(event.fields.get("name") or event.fields.get("path", ""))
        if self._logged.get((event.name, subject)) != event.fields:
            self.log.warning(event.name, **event.fields)
        self._logged[event.name, subject] = event.fields
