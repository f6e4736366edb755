"""Watch folders for changes and collect the dirty paths.

Events may be lost; the next scan finds these changes. The mode is `polling`, and the
daemon scans more often, until two things are certain: the event of a canary file shows
that events arrive, and no folder below the roots is left out, for example because of
the user's limit of inotify watches.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from watchdog.events import (
    DirCreatedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from leslied.model.source import WatchDepth
from leslied.paths import PLATFORM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchdog.observers.api import BaseObserver

    from leslied.clock import Clock
    from leslied.model.source import Root

WatchMode = Literal["events", "polling"]

# Events for opening and closing are left out: they would report our own reads, and with
# over four thousand folders watchdog's reaction to an overflow would cause the next.
_FILE_EVENTS: list[type[FileSystemEvent]] = [
    FileModifiedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    DirCreatedEvent,
    DirMovedEvent,
]
_FOLDER_EVENTS: list[type[FileSystemEvent]] = [DirCreatedEvent, DirMovedEvent]
_MAX_DIRTY_PATHS = 10_000
_CANARY_TIMEOUT_SECONDS = 10.0
"""Longest time until an event arrives, for example after many other events."""
_MAX_TRIED_FOLDERS = 3
_LIMIT_HINTS = {
    errno.ENOSPC: "Raise the limit: sudo sysctl fs.inotify.max_user_watches=1048576",
    errno.EMFILE: "Raise the limit: sudo sysctl fs.inotify.max_user_instances=1024",
}
"""What the user can do about an error of inotify."""
_OTHER_HINT = "leslied tries again by itself. Check the logs with: leslied doctor"


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """Paths that changed since the last report, and whether a full scan is needed."""

    paths: frozenset[Path] = frozenset()
    needs_scan: bool = False


class WatchProblem(NamedTuple):
    """Why the changes of some or all folders cause no events."""

    reason: str
    hint: str
    """What the user can do."""


class _WatchedFolder(NamedTuple):
    """A watched folder: its inode, whether it is a root, and how deep it is watched."""

    inode: int
    is_root: bool
    is_recursive: bool = True


@dataclass(slots=True, eq=False)
class _EventQueue(FileSystemEventHandler):
    """Queue of dirty paths, filled by watchdog's threads and emptied by ours."""

    canary: Path
    dirty_paths: set[Path] = field(default_factory=set)
    unhandled_changes: set[bytes] = field(default_factory=set)
    """Events of the observer that are on their way to `dirty_paths`, or were added."""
    needs_scan: bool = False
    is_woken: bool = False
    """Whether `wait` must end although nothing changed."""
    is_canary_pending: bool = False
    """Whether the event of the last write to the canary file is still to come."""
    has_received_canary: bool = False
    """Whether an event of the canary file has arrived since watching started."""
    unwatched: dict[Path, Exception] = field(default_factory=dict)
    """Folders that could not be watched, and why."""
    has_overflowed: bool = False
    condition: threading.Condition = field(default_factory=threading.Condition)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Record the paths of an event. Runs on watchdog's thread."""
        event_paths = (event.src_path, event.dest_path)
        paths = [Path(os.fsdecode(path)) for path in event_paths if path]
        with self.condition:
            if self.canary in paths:
                self.is_canary_pending, self.has_received_canary = False, True
            elif event.is_directory or len(self.dirty_paths) >= _MAX_DIRTY_PATHS:
                # A new folder may contain files that were created before the watch.
                self.needs_scan = True
            else:
                self.dirty_paths.update(paths)
            self.condition.notify_all()

    def mark_unwatched(self, folder: Path, error: Exception) -> None:
        """Record that a folder is not watched.

        If it is new, the event of its creation requests a scan.
        """
        with self.condition:
            self.unwatched[folder] = error

    def reset(self) -> None:
        """Clear the state of an earlier observer; keep the dirty paths."""
        with self.condition:
            self.is_canary_pending = self.has_received_canary = False
            self.has_overflowed = False
            self.unhandled_changes.clear()
            self.unwatched.clear()

    def mark_overflow(self) -> None:
        """Record that events were lost, so that a scan and a restart are needed."""
        with self.condition:
            self.needs_scan = self.has_overflowed = True
            self.condition.notify_all()

    def has_changes(self) -> bool:
        """Return whether there is a reason to stop waiting."""
        return bool(self.dirty_paths) or self.needs_scan or self.is_woken


class _OverflowHandler(logging.Handler):
    """Requests a scan when watchdog logs that its queue overflowed."""

    def __init__(self, queue: _EventQueue) -> None:
        super().__init__(logging.WARNING)
        self._queue = queue

    def emit(self, record: logging.LogRecord) -> None:
        """Request a scan, whatever the warning says."""
        del record
        self._queue.mark_overflow()


class Watcher:
    """Watches roots; for a missing root, the nearest existing folder above it."""

    def __init__(self, roots: Iterable[Root], canary: Path, clock: Clock) -> None:
        self._roots = list(roots)
        self._canary = canary
        self._clock = clock
        self._queue = _EventQueue(canary)
        self._overflow_handler = _OverflowHandler(self._queue)
        self._observer: BaseObserver | None = None
        self._plan: dict[Path, _WatchedFolder] = {}
        self._canary_touched_at = 0.0
        self._start_error: Exception | None = None
        self._canary_error = ""
        """Why the canary file could not be written the last time."""
        self._was_unresponsive = False

    @property
    def mode(self) -> WatchMode:
        """`events` if it is proven that every change of a file causes an event."""
        is_proven = self._observer is not None and self._queue.has_received_canary
        return "events" if is_proven and not self._list_unwatched() else "polling"

    def find_problem(self) -> WatchProblem | None:
        """Return why not every change causes an event, or None."""
        if self._start_error:
            return _describe_problem("no file events", self._start_error)
        if folders := self._list_unwatched():
            others = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
            symptom = f"no file events in {folders[0]}{others}"
            return _describe_problem(symptom, self._queue.unwatched[folders[0]])
        if self._canary_error:
            return WatchProblem(self._canary_error, _OTHER_HINT)
        if self._was_unresponsive and not self._queue.has_received_canary:
            return WatchProblem("file events stopped arriving", _OTHER_HINT)
        return None

    def start(self) -> None:
        """Watch the folders that exist now, as far as that is possible.

        The mode is `polling` until an event of the canary file arrives.
        """
        self.stop()
        self._queue.reset()
        logging.getLogger("watchdog").addHandler(self._overflow_handler)
        # For a folder created inside a new folder, watchdog gets two events and emits
        # a harmless warning of three thousand characters.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._plan = self._plan_watches()
        try:
            self._observer = _make_observer(self._queue)
            self._observer.start()
        except (OSError, RuntimeError) as error:
            self.stop()
            self._start_error = error
            return
        self._start_error = None
        for folder, watched in self._plan.items():
            self._schedule(self._observer, folder, watched)
        if self._plan != self._plan_watches():
            # A folder was created while the watch of its parent was being set up.
            self.start()
            return
        self._touch_canary()

    def _schedule(
        self, observer: BaseObserver, folder: Path, watched: _WatchedFolder
    ) -> None:
        """Watch one folder of the plan; record an error."""
        try:
            observer.schedule(
                self._queue,
                str(folder),
                recursive=watched.is_root and watched.is_recursive,
                event_filter=_FILE_EVENTS if watched.is_root else _FOLDER_EVENTS,
            )
        except (OSError, RuntimeError) as error:
            self._queue.mark_unwatched(folder, error)

    def stop(self) -> None:
        """Stop watching; the mode is `polling` afterwards."""
        observer, self._observer = self._observer, None
        logging.getLogger("watchdog").removeHandler(self._overflow_handler)
        if observer:
            observer.unschedule_all()
            observer.stop()
            if observer.is_alive():
                observer.join(timeout=2)

    def refresh(self) -> bool:
        """Watch the folders that exist now; return whether events still arrive.

        Call this before every scan. Each call touches the canary file, and the next
        call checks that its event arrived, so that no call has to wait.
        """
        is_unresponsive = self._is_unresponsive()
        self._was_unresponsive |= is_unresponsive
        if (
            is_unresponsive
            or self._queue.has_overflowed
            or self._plan != self._plan_watches()
            or self._can_watch_more()
        ):
            self.start()
        elif not self._queue.is_canary_pending:
            self._touch_canary()
        if self.mode == "events":
            self._was_unresponsive = False
        return not is_unresponsive

    def wait(self, seconds: float) -> ChangeReport:
        """Wait for changes and return them; return an empty report on timeout."""
        queue = self._queue
        with queue.condition:
            queue.condition.wait_for(queue.has_changes, seconds)
            # Cleared first: a later change of these files causes an event again.
            queue.unhandled_changes.clear()
            report = ChangeReport(frozenset(queue.dirty_paths), queue.needs_scan)
            queue.dirty_paths.clear()
            queue.needs_scan = queue.is_woken = False
        return report

    def has_changes(self) -> bool:
        """Return whether `wait` would report a change at once."""
        return bool(self._queue.dirty_paths) or self._queue.needs_scan

    def set_roots(self, roots: Iterable[Root]) -> None:
        """Set the roots, effective at the next `refresh`."""
        self._roots = list(roots)

    def wake(self) -> None:
        """End a `wait` at once. Safe to call from a signal handler."""
        with self._queue.condition:
            self._queue.is_woken = True
            self._queue.condition.notify_all()

    def _touch_canary(self) -> None:
        """Write the canary file; its event will prove that events arrive."""
        self._queue.is_canary_pending = True
        self._queue.unhandled_changes.clear()
        self._canary_touched_at = self._clock.monotonic()
        self._canary_error = ""
        try:
            self._canary.write_text(self._clock.now().isoformat(), encoding="utf-8")
        except OSError as error:
            self._queue.is_canary_pending = self._queue.has_received_canary = False
            self._canary_error = f"{self._canary} cannot be written: {error.strerror}"

    def _is_unresponsive(self) -> bool:
        """Return whether the canary's event is overdue or a watchdog thread died."""
        if self._observer is None:
            return True
        emitters = list(self._observer.emitters)
        waited_seconds = self._clock.monotonic() - self._canary_touched_at
        has_timed_out = waited_seconds >= _CANARY_TIMEOUT_SECONDS
        is_overdue = self._queue.is_canary_pending and has_timed_out
        return is_overdue or not all(e.is_alive() for e in emitters)

    def _list_unwatched(self) -> list[Path]:
        """Return the folders that can be read, but could not be watched."""
        with self._queue.condition:
            folders = list(self._queue.unwatched)
        return [folder for folder in folders if os.access(folder, os.R_OK)]

    def _can_watch_more(self) -> bool:
        """Return whether a folder that could not be watched can be watched now.

        If so, all watches are started again. Trying only a few folders is much cheaper
        than that, and the system's limit of watches may be reached for days.
        """
        folders = self._list_unwatched()[:_MAX_TRIED_FOLDERS]
        return bool(folders) and any(map(_can_watch, folders))

    def _plan_watches(self) -> dict[Path, _WatchedFolder]:
        """Return the folders to watch: each root, or the nearest existing parent."""
        # This folder is leslied's own. Its inode is not compared, so 0 stands for it.
        plan = {self._canary.parent: _WatchedFolder(0, is_root=True)}
        for root in self._roots:
            if root.watch is WatchDepth.NONE:
                continue
            path = root.path
            folder = next(parent for parent in (path, *path.parents) if parent.is_dir())
            previous = plan.get(folder)
            plan[folder] = _WatchedFolder(
                folder.stat().st_ino,
                is_root=folder == path or bool(previous and previous.is_root),
                is_recursive=root.watch is WatchDepth.DEEP
                or bool(previous and previous.is_recursive),
            )
        return plan


def _make_observer(queue: _EventQueue) -> BaseObserver:
    """Return an observer that records in the queue which folders are not watched."""
    if PLATFORM != "linux":
        return Observer()
    from leslied.tail.inotify_observer import InotifyObserver  # noqa: PLC0415

    return InotifyObserver(queue.mark_unwatched, queue.unhandled_changes)


def _can_watch(folder: Path) -> bool:
    """Return whether a folder can be watched, with an observer that is then dropped."""
    observer: BaseObserver | None = None
    try:
        observer = Observer()
        observer.start()
        observer.schedule(FileSystemEventHandler(), str(folder))
    except (OSError, RuntimeError):
        return False
    finally:
        if observer is not None:
            observer.stop()
    return True


def _describe_problem(symptom: str, error: Exception) -> WatchProblem:
    """Return the problem that an error causes, with a hint for the user."""
    code = error.errno if isinstance(error, OSError) else None
    reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return WatchProblem(
        f"{symptom}: {reason}", _LIMIT_HINTS.get(code or 0, _OTHER_HINT)
    )
