"""Look when something changes, look at everything now and then, stop when told."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied.errors import LesliedError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from leslied.clock import Clock
    from leslied.daemon.notify import Notifier
    from leslied.pipeline import Collected, Ingested, KeptNow, Streets
    from leslied.tail.watch import Watcher

SCAN_SECONDS = 30.0
"""Without any event, everything is looked at this often."""
POLL_SECONDS = 10.0
"""Where no events arrive at all, this often."""
_PAUSE = 0.05
"""Between two looks: a storm of events costs twenty looks a second, no more."""
_TICK = 0.5
"""How often units are looked at that may have become quiet."""
_AT_ONCE = 20
"""Sessions settled in one turn, so that reading never waits long for writing."""
_ARCHIVED_AT_ONCE = 200
_PUBLISHED_AT_ONCE = 5
_RETRY_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Loop:
    """One thread that reads and writes; the watcher's thread only leaves hints."""

    streets: Streets
    renew: Callable[[], Streets]
    """Makes the streets anew, from the settings as they are now."""
    watcher: Watcher
    clock: Clock
    log: FilteringBoundLogger
    notifier: Notifier
    is_paused: Callable[[], bool] = lambda: False
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the loop is to end; it may be before it begins."""
    _next_scan: float = 0.0
    _is_busy: bool = False
    _has_backlog: bool = False
    _is_related: bool = False
    _is_published: bool = False
    _told: dict[str, str] = field(default_factory=dict)

    def scan_soon(self) -> None:
        """Settings are read again and everything is looked at, now; or it ends."""
        self._next_scan = 0.0
        self.watcher.wake()

    def run(self) -> None:
        """Everything new is kept soon after it is written, until told to stop."""
        self.watcher.start()
        self.log.info("daemon.start", folders=len(self.streets.roots))
        self.notifier.ready()
        try:
            while not self.stopping.is_set():
                self._turn()
                self.notifier.ping()
        finally:
            self.notifier.stopping()
            self.watcher.stop()
            self.log.info("daemon.stop")

    def _turn(self) -> None:
        if self.is_paused():
            self.watcher.wait(_TICK)
            self._next_scan = 0.0
            return
        try:
            if self.clock.monotonic() >= self._next_scan:
                self._scan()
            else:
                self._look()
            self._listen()
            self._write()
        except LesliedError as error:
            # The disk is full or the store is busy: nothing is lost by waiting.
            self.log.error("daemon.retry", reason=error.message)  # noqa: TRY400
            self.stopping.wait(_RETRY_SECONDS)

    def _scan(self) -> None:
        began = self.clock.monotonic()
        self._renew_streets()
        self.watcher.renew()
        trouble = self.watcher.trouble
        if self._told.get("watch", "") != trouble:
            self._told["watch"] = trouble
            self.log.warning("watch.renew", reason=trouble or "all is well again")
        for ingest in self.streets.ingests:
            done = ingest.scan()
            self._tell("ingest.scan", done)
            # Only what a scan finds waiting is reported: `claude -p` names its folder
            # some 100 ms after the prompt, and every look in between holds it back.
            waiting = {str(path): reason for path, reason in done.waiting.items()}
            self._tell_troubles("source.waiting", waiting)
        self._tell_collected(self.streets.collect.scan())
        self._tell_kept(self.streets.keep.run(most=_ARCHIVED_AT_ONCE))
        has_events = self.watcher.mode == "events"
        self._is_related = self._is_published = False
        self._next_scan = began + (SCAN_SECONDS if has_events else POLL_SECONDS)

    def _tell_kept(self, kept: KeptNow) -> None:
        self._has_backlog = kept.has_more
        if kept.bytes_written:
            self.log.info("archive.write", logs=kept.sources, bytes=kept.bytes_written)

    def _renew_streets(self) -> None:
        """The settings as they are now; wrong ones are told and the last good stay."""
        try:
            streets = self.renew()
        except UserError as error:
            if self._told.get("config") != error.message:
                self.log.warning("config.kept", reason=error.message)
            self._told["config"] = error.message
            return
        streets.stops.live.update(self.streets.stops.live)
        streets.stops.over.update(self.streets.stops.over)
        self.streets = streets
        self.watcher.follow(streets.watched)

    def _write(self) -> None:
        """Units that are over become files; old sessions only while nothing happens."""
        stopped = self.streets.stops.check()
        if stopped:
            self.log.info("session.stop", sessions=stopped)
        done = self.streets.settle.run(most=_AT_ONCE, has_old=not self._is_busy)
        if done.units or stopped:
            self._is_related = self._is_published = False
        self._tell_troubles("sink.trouble", done.troubles)
        self._tell_collected(self.streets.collect.run(most=_AT_ONCE))
        if done.written:
            self.log.info("sink.write", units=done.units, files=done.written)
        elif not self._is_related:
            self._relate()
        elif not self._is_published:
            self._publish()
        elif self._has_backlog and not self._is_busy:
            self._tell_kept(self.streets.keep.go_on(most=_ARCHIVED_AT_ONCE))

    def _relate(self) -> None:
        """Threads stand among others; while many are written, this waits."""
        related = self.streets.relate.run()
        self._is_related = not (related.moved or related.is_waiting)
        for old, new in related.moved.items():
            self.log.info("thread.move", old=old, new=new)
        self._tell_troubles("relations.trouble", related.troubles)
        if related.files:
            self.log.info("relations.write", files=related.files)

    def _tell_collected(self, done: Collected) -> None:
        self._tell_troubles("index.trouble", done.troubles)
        if done.written:
            self.log.info("index.write", threads=done.threads, files=done.written)

    def _tell_troubles(self, event: str, troubles: dict[str, str]) -> None:
        """Each is told once, until it is another one."""
        for name, reason in troubles.items():
            if self._told.get(name) != reason:
                self.log.warning(event, name=name, reason=reason)
            self._told[name] = reason

    def _publish(self) -> None:
        """Sessions that stopped have their other outputs, a few at a time."""
        published = self.streets.publish.run(most=_PUBLISHED_AT_ONCE)
        self._is_published = not published.has_more
        self._tell_troubles("publish.trouble", published.troubles)
        if published.files:
            self.log.info(
                "publish.write", sessions=published.sessions, files=published.files
            )

    def _look(self) -> None:
        left = self._next_scan - self.clock.monotonic()
        hint = self.watcher.wait(min(max(left, 0.0), _TICK))
        self._is_busy = bool(hint.paths)
        if hint.is_lost:
            self._next_scan = 0.0
        if hint.paths:
            for ingest in self.streets.ingests:
                self._tell("ingest.look", ingest.look(hint.paths))
            self.stopping.wait(_PAUSE)

    def _listen(self) -> None:
        """Logs that hooks named are looked at, and what ended is stopped."""
        heard = self.streets.told.listen()
        self._tell("ingest.look", heard.done)
        if heard.events:
            self.log.info("hooks.heard", events=heard.events, stopped=heard.stopped)
        if heard.dropped:
            self.log.warning("hooks.garbage", files=heard.dropped)
        for folder in heard.unknown:
            if self._told.get(str(folder)) != "unknown":
                self.log.warning("hooks.unknown_folder", path=str(folder))
            self._told[str(folder)] = "unknown"

    def _tell(self, event: str, done: Ingested) -> None:
        for path, reason in done.troubles.items():
            self.log.warning("source.trouble", path=str(path), reason=reason)
        if done.entries:
            self.log.info(
                event,
                entries=done.entries,
                records=done.added.records,
                bytes=done.bytes_read,
                rejected=done.rejected,
            )
