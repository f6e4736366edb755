"""Hints: which paths are worth a look now.

No promise rests on an event. Whatever watchdog loses, the next scan finds; a canary
file tells whether events still arrive at all, and where they do not the mode is
`polling`, so that whoever waits here scans more often.
"""

from __future__ import annotations

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

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchdog.observers.api import BaseObserver

    from leslied.clock import Clock
    from leslied.model.source import Root

WatchMode = Literal["events", "polling"]

# Never opens or closes: our own reading would be reported, and above four thousand
# folders watchdog's answer to an overflow would cause the next one, without end.
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
"""So long an event may take: behind a backlog, or a file that moved away."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What changed since the last hint; `is_lost` asks for a scan of everything."""

    paths: frozenset[Path] = frozenset()
    needs_scan: bool = False


class _WatchedFolder(NamedTuple):
    """A folder under watch: which one it was, what is told of it, and how deep."""

    inode: int
    is_root: bool
    is_recursive: bool = True


@dataclass(slots=True, eq=False)
class _EventQueue(FileSystemEventHandler):
    """Dirty paths, filled by watchdog's thread, emptied by ours."""

    canary: Path
    dirty_paths: set[Path] = field(default_factory=set)
    needs_scan: bool = False
    is_woken: bool = False
    is_canary_pending: bool = False
    has_overflowed: bool = False
    condition: threading.Condition = field(default_factory=threading.Condition)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Note where something happened; nothing else is done on this thread."""
        told = (event.src_path, event.dest_path)
        paths = [Path(os.fsdecode(path)) for path in told if path]
        with self.condition:
            if self.canary in paths:
                self.is_canary_pending = False
            elif event.is_directory or len(self.dirty_paths) >= _MAX_DIRTY_PATHS:
                # A new folder may already hold files nobody will tell us of.
                self.needs_scan = True
            else:
                self.dirty_paths.update(paths)
            self.condition.notify_all()

    def mark_overflow(self) -> None:
        """Events were lost: everything must be looked at, and watched anew."""
        with self.condition:
            self.needs_scan = self.has_overflowed = True
            self.condition.notify_all()

    def has_changes(self) -> bool:
        """Whether there is any reason to stop waiting."""
        return bool(self.dirty_paths) or self.needs_scan or self.is_woken


class _OverflowHandler(logging.Handler):
    """Turns watchdog's word of lost events, which only its log tells, into a hint."""

    def __init__(self, queue: _EventQueue) -> None:
        super().__init__(logging.WARNING)
        self._queue = queue

    def emit(self, record: logging.LogRecord) -> None:
        """Whatever watchdog warns of, a scan is the answer."""
        del record
        self._queue.mark_overflow()


class Watcher:
    """Watches folders below roots; of a missing root, the nearest folder above it."""

    def __init__(self, roots: Iterable[Root], canary: Path, clock: Clock) -> None:
        self._roots = list(roots)
        self._canary = canary
        self._clock = clock
        self._queue = _EventQueue(canary)
        self._overflow_handler = _OverflowHandler(self._queue)
        self._observer: BaseObserver | None = None
        self._plan: dict[Path, _WatchedFolder] = {}
        self._canary_touched_at = 0.0
        self.mode: WatchMode = "polling"
        self.error = ""

    def start(self) -> None:
        """Events arrive, or the mode is `polling` and `trouble` says why."""
        self.stop()
        logging.getLogger("watchdog").addHandler(self._overflow_handler)
        # Of a folder made inside a new folder watchdog hears twice. It says so with
        # all it knows, three thousand characters to a folder, and all is well.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._plan = self._plan_watches()
        try:
            self._observer = Observer()
            for folder, watched in self._plan.items():
                self._observer.schedule(
                    self._queue,
                    str(folder),
                    recursive=watched.is_root and watched.is_recursive,
                    event_filter=_FILE_EVENTS if watched.is_root else _FOLDER_EVENTS,
                )
            self._observer.start()
        except (OSError, RuntimeError) as error:
            self.stop()
            self.error = f"no file events: {error}"
            return
        self.mode, self.error = "events", ""
        self._queue.is_canary_pending = self._queue.has_overflowed = False
        if self._plan != self._plan_watches():
            # A folder was made while we began to watch the one above it.
            self.start()

    def stop(self) -> None:
        """No event arrives any more."""
        observer, self._observer = self._observer, None
        self.mode = "polling"
        logging.getLogger("watchdog").removeHandler(self._overflow_handler)
        if observer:
            observer.unschedule_all()
            observer.stop()
            if observer.is_alive():
                observer.join(timeout=2)

    def refresh(self) -> bool:
        """Watch what there is to watch now; says whether the canary was heard.

        Called before every scan: each call makes the canary sing for the next one, so
        a dead observer is noticed without anybody waiting for it.
        """
        is_unresponsive = self._is_unresponsive()
        if (
            is_unresponsive
            or self._queue.has_overflowed
            or self._plan != self._plan_watches()
        ):
            self.start()
        if is_unresponsive and not self.error:
            self.error = "file events stopped arriving"
        if not self._queue.is_canary_pending:
            self._touch_canary()
        return not is_unresponsive

    def wait(self, seconds: float) -> Hint:
        """What changed, as soon as anything does; an empty hint after the time."""
        queue = self._queue
        with queue.condition:
            queue.condition.wait_for(queue.has_changes, seconds)
            hint = Hint(frozenset(queue.dirty_paths), queue.needs_scan)
            queue.dirty_paths.clear()
            queue.needs_scan = queue.is_woken = False
        return hint

    def set_roots(self, roots: Iterable[Root]) -> None:
        """These roots count from the next renewal on."""
        self._roots = list(roots)

    def wake(self) -> None:
        """Whoever waits goes on at once; safe to call from a signal handler."""
        with self._queue.condition:
            self._queue.is_woken = True
            self._queue.condition.notify_all()

    def _touch_canary(self) -> None:
        """The canary file changes; its event will say that events arrive."""
        self._queue.is_canary_pending = True
        self._canary_touched_at = self._clock.monotonic()
        try:
            self._canary.write_text(self._clock.now().isoformat(), encoding="utf-8")
        except OSError as error:
            self._queue.is_canary_pending = False
            self.error = f"the canary cannot be written: {error}"

    def _is_unresponsive(self) -> bool:
        """The canary sang and nobody heard it, or a thread of watchdog's died."""
        if self.mode != "events" or self._observer is None:
            return True
        emitters = list(self._observer.emitters)
        waited = self._clock.monotonic() - self._canary_touched_at
        is_unheard = self._queue.is_canary_pending and waited >= _CANARY_TIMEOUT_SECONDS
        return is_unheard or not all(e.is_alive() for e in emitters)

    def _plan_watches(self) -> dict[Path, _WatchedFolder]:
        """Which folders to watch: a root with all below it, or what may become one."""
        plan = {self._canary.parent: _WatchedFolder(0, is_root=True)}
        for root in self._roots:
            if root.watch is WatchDepth.NONE:
                continue
            path = root.path
            near = next(folder for folder in (path, *path.parents) if folder.is_dir())
            known = plan.get(near)
            plan[near] = _WatchedFolder(
                near.stat().st_ino,
                is_root=near == path or bool(known and known.is_root),
                is_recursive=root.watch is WatchDepth.DEEP
                or bool(known and known.is_recursive),
            )
        return plan
