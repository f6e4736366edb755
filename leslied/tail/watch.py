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

Mode = Literal["events", "polling"]

# Never opens or closes: our own reading would be reported, and above four thousand
# folders watchdog's answer to an overflow would cause the next one, without end.
_WANTED: list[type[FileSystemEvent]] = [
    FileModifiedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    DirCreatedEvent,
    DirMovedEvent,
]
_FOLDERS: list[type[FileSystemEvent]] = [DirCreatedEvent, DirMovedEvent]
_MOST_DIRTY = 10_000
_PATIENCE = 10.0
"""So long an event may take: behind a backlog, or a file that moved away."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What changed since the last hint; `is_lost` asks for a scan of everything."""

    paths: frozenset[Path] = frozenset()
    is_lost: bool = False


class _Watched(NamedTuple):
    """A folder under watch: which one it was, what is told of it, and how deep."""

    inode: int
    is_root: bool
    is_deep: bool = True


@dataclass(slots=True, eq=False)
class _Inbox(FileSystemEventHandler):
    """Dirty paths, filled by watchdog's thread, emptied by ours."""

    canary: Path
    dirty: set[Path] = field(default_factory=set)
    is_lost: bool = False
    is_woken: bool = False
    is_singing: bool = False
    has_overflowed: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Note where something happened; nothing else is done on this thread."""
        told = (event.src_path, event.dest_path)
        paths = [Path(os.fsdecode(path)) for path in told if path]
        with self.changed:
            if self.canary in paths:
                self.is_singing = False
            elif event.is_directory or len(self.dirty) >= _MOST_DIRTY:
                # A new folder may already hold files nobody will tell us of.
                self.is_lost = True
            else:
                self.dirty.update(paths)
            self.changed.notify_all()

    def note_overflow(self) -> None:
        """Events were lost: everything must be looked at, and watched anew."""
        with self.changed:
            self.is_lost = self.has_overflowed = True
            self.changed.notify_all()

    def has_news(self) -> bool:
        """Whether there is any reason to stop waiting."""
        return bool(self.dirty) or self.is_lost or self.is_woken


class _Overflow(logging.Handler):
    """Turns watchdog's word of lost events, which only its log tells, into a hint."""

    def __init__(self, inbox: _Inbox) -> None:
        super().__init__(logging.WARNING)
        self._inbox = inbox

    def emit(self, record: logging.LogRecord) -> None:
        """Whatever watchdog warns of, a scan is the answer."""
        del record
        self._inbox.note_overflow()


class Watcher:
    """Watches folders below roots; of a missing root, the nearest folder above it."""

    def __init__(self, roots: Iterable[Root], canary: Path, clock: Clock) -> None:
        self._roots = list(roots)
        self._canary = canary
        self._clock = clock
        self._inbox = _Inbox(canary)
        self._overflow = _Overflow(self._inbox)
        self._observer: BaseObserver | None = None
        self._plan: dict[Path, _Watched] = {}
        self._sang_at = 0.0
        self.mode: Mode = "polling"
        self.trouble = ""

    def start(self) -> None:
        """Events arrive, or the mode is `polling` and `trouble` says why."""
        self.stop()
        logging.getLogger("watchdog").addHandler(self._overflow)
        # Of a folder made inside a new folder watchdog hears twice. It says so with
        # all it knows, three thousand characters to a folder, and all is well.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self._plan = self._make_plan()
        try:
            self._observer = Observer()
            for folder, watched in self._plan.items():
                self._observer.schedule(
                    self._inbox,
                    str(folder),
                    recursive=watched.is_root and watched.is_deep,
                    event_filter=_WANTED if watched.is_root else _FOLDERS,
                )
            self._observer.start()
        except (OSError, RuntimeError) as error:
            self.stop()
            self.trouble = f"no file events: {error}"
            return
        self.mode, self.trouble = "events", ""
        self._inbox.is_singing = self._inbox.has_overflowed = False
        if self._plan != self._make_plan():
            # A folder was made while we began to watch the one above it.
            self.start()

    def stop(self) -> None:
        """No event arrives any more."""
        observer, self._observer = self._observer, None
        self.mode = "polling"
        logging.getLogger("watchdog").removeHandler(self._overflow)
        if observer:
            observer.unschedule_all()
            observer.stop()
            if observer.is_alive():
                observer.join(timeout=2)

    def renew(self) -> bool:
        """Watch what there is to watch now; says whether the canary was heard.

        Called before every scan: each call makes the canary sing for the next one, so
        a dead observer is noticed without anybody waiting for it.
        """
        is_deaf = self._is_deaf()
        if is_deaf or self._inbox.has_overflowed or self._plan != self._make_plan():
            self.start()
        if is_deaf and not self.trouble:
            self.trouble = "file events stopped arriving"
        if not self._inbox.is_singing:
            self._sing()
        return not is_deaf

    def wait(self, seconds: float) -> Hint:
        """What changed, as soon as anything does; an empty hint after the time."""
        inbox = self._inbox
        with inbox.changed:
            inbox.changed.wait_for(inbox.has_news, seconds)
            hint = Hint(frozenset(inbox.dirty), inbox.is_lost)
            inbox.dirty.clear()
            inbox.is_lost = inbox.is_woken = False
        return hint

    def follow(self, roots: Iterable[Root]) -> None:
        """These roots count from the next renewal on."""
        self._roots = list(roots)

    def wake(self) -> None:
        """Whoever waits goes on at once; safe to call from a signal handler."""
        with self._inbox.changed:
            self._inbox.is_woken = True
            self._inbox.changed.notify_all()

    def _sing(self) -> None:
        """The canary file changes; its event will say that events arrive."""
        self._inbox.is_singing = True
        self._sang_at = self._clock.monotonic()
        try:
            self._canary.write_text(self._clock.now().isoformat(), encoding="utf-8")
        except OSError as error:
            self._inbox.is_singing = False
            self.trouble = f"the canary cannot be written: {error}"

    def _is_deaf(self) -> bool:
        """The canary sang and nobody heard it, or a thread of watchdog's died."""
        if self.mode != "events" or self._observer is None:
            return True
        emitters = list(self._observer.emitters)
        waited = self._clock.monotonic() - self._sang_at
        is_unheard = self._inbox.is_singing and waited >= _PATIENCE
        return is_unheard or not all(e.is_alive() for e in emitters)

    def _make_plan(self) -> dict[Path, _Watched]:
        """Which folders to watch: a root with all below it, or what may become one."""
        plan = {self._canary.parent: _Watched(0, is_root=True)}
        for root in self._roots:
            if root.watch is WatchDepth.NONE:
                continue
            path = root.path
            near = next(folder for folder in (path, *path.parents) if folder.is_dir())
            known = plan.get(near)
            plan[near] = _Watched(
                near.stat().st_ino,
                is_root=near == path or bool(known and known.is_root),
                is_deep=root.watch is WatchDepth.DEEP or bool(known and known.is_deep),
            )
        return plan
