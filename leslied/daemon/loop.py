"""Look when something changes, look at everything now and then, stop when told."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from leslied.errors import LesliedError, UserError
from leslied.pipeline.failures import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from structlog.typing import FilteringBoundLogger

    from leslied.clock import Clock
    from leslied.daemon.notify import Notifier
    from leslied.pipeline import Collected, Ingest, Ingested, KeptNow, Streets
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
    _has_written: bool = False
    _paths: Collection[Path] = ()
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
            with suppress(LesliedError):
                self.streets.stops.forget_live()
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
            self._run_stage("hook events", self._listen)
            self._write()
        except Exception as error:  # noqa: BLE001 - the loop outlives every error
            # The disk is full or the store is busy: nothing is lost by waiting.
            reason = describe_error(error)
            self.log.error("daemon.retry", reason=reason)  # noqa: TRY400
            self.stopping.wait(_RETRY_SECONDS)

    def _run_stage(self, name: str, work: Callable[[], object]) -> bool:
        """Run one stage; return whether it was done.

        A stage that raises is named in the log and by `status`, and is tried again
        after a pause. The stages after it run all the same.
        """
        errors: dict[str, str] = {}
        is_done = self.streets.failures.attempt("stage", name, work, errors)
        self._tell_troubles("stage.fail", errors)
        return is_done

    def _scan(self) -> None:
        began = self.clock.monotonic()
        self._run_stage("config", self._renew_streets)
        self._run_stage("watch", self._renew_watcher)
        for ingest in self.streets.ingests:
            name = f"ingest {ingest.adapter.name}"
            self._run_stage(name, partial(self._ingest_all, ingest))
        self._run_stage("asset index", self._scan_assets)
        self._run_stage("archive", self._archive)
        has_events = self.watcher.mode == "events"
        self._is_related = self._is_published = False
        self._next_scan = began + (SCAN_SECONDS if has_events else POLL_SECONDS)

    def _renew_watcher(self) -> None:
        self.watcher.renew()
        trouble = self.watcher.trouble
        if self._told.get("watch", "") != trouble:
            self._told["watch"] = trouble
            self.log.warning("watch.renew", reason=trouble or "all is well again")

    def _ingest_all(self, ingest: Ingest) -> None:
        done = ingest.scan()
        self._tell("ingest.scan", done)
        # Only what a scan finds waiting is reported: `claude -p` names its folder
        # some 100 ms after the prompt, and every look in between holds it back.
        waiting = {str(path): reason for path, reason in done.waiting.items()}
        self._tell_troubles("source.waiting", waiting)

    def _scan_assets(self) -> None:
        self._tell_collected(self.streets.collect.scan())

    def _archive(self) -> None:
        self._tell_kept(self.streets.keep.run(most=_ARCHIVED_AT_ONCE))

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
        self._has_written = False
        self._run_stage("stop detection", self._detect_stops)
        self._run_stage("transcripts", self._settle)
        self._run_stage("asset index", self._index_assets)
        if self._has_written:
            return
        # A stage that failed waits for the next scan, and holds up none after it.
        if not self._is_related:
            if not self._run_stage("relations", self._relate):
                self._is_related = True
        elif not self._is_published:
            if not self._run_stage("exports", self._publish):
                self._is_published = True
        elif self._has_backlog and not self._is_busy:
            self._run_stage("archive", self._archive_more)

    def _detect_stops(self) -> None:
        stopped = self.streets.stops.check()
        if stopped:
            self.log.info("session.stop", sessions=stopped)
            self._is_related = self._is_published = False

    def _settle(self) -> None:
        done = self.streets.settle.run(most=_AT_ONCE, has_old=not self._is_busy)
        if done.units:
            self._is_related = self._is_published = False
        self._tell_troubles("sink.trouble", done.troubles)
        if done.written:
            self._has_written = True
            self.log.info("sink.write", units=done.units, files=done.written)

    def _index_assets(self) -> None:
        self._tell_collected(self.streets.collect.run(most=_AT_ONCE))

    def _archive_more(self) -> None:
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
        self._paths = set()
        if not self._run_stage("watch", self._wait_for_events):
            self.stopping.wait(_TICK)
        if self._paths:
            for ingest in self.streets.ingests:
                name = f"ingest {ingest.adapter.name}"
                self._run_stage(name, partial(self._ingest_paths, ingest))
            self.stopping.wait(_PAUSE)

    def _wait_for_events(self) -> None:
        left = self._next_scan - self.clock.monotonic()
        hint = self.watcher.wait(min(max(left, 0.0), _TICK))
        self._is_busy = bool(hint.paths)
        self._paths = hint.paths
        if hint.is_lost:
            self._next_scan = 0.0

    def _ingest_paths(self, ingest: Ingest) -> None:
        self._tell("ingest.look", ingest.look(self._paths))

    def _listen(self) -> None:
        """Logs that hooks named are looked at, and what ended is stopped."""
        heard = self.streets.told.listen()
        self._tell("ingest.look", heard.done)
        if heard.events:
            self.log.info("hooks.heard", events=heard.events, stopped=heard.stopped)
        if heard.dropped:
            self.log.warning("hooks.garbage", files=heard.dropped)
        self._tell_troubles("hooks.fail", heard.errors)
        for folder in heard.unknown:
            if self._told.get(str(folder)) != "unknown":
                self.log.warning("hooks.unknown_folder", path=str(folder))
            self._told[str(folder)] = "unknown"

    def _tell(self, event: str, done: Ingested) -> None:
        for path, reason in (done.troubles | done.failures).items():
            self.log.warning("source.trouble", path=str(path), reason=reason)
        if done.entries:
            self.log.info(
                event,
                entries=done.entries,
                records=done.added.records,
                bytes=done.bytes_read,
                rejected=done.rejected,
            )
