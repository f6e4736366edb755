"""The daemon's main loop: read changed files at once, scan everything now and then."""

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
    from leslied.pipeline import (
        ArchiverReport,
        AssetIndexReport,
        Ingest,
        IngestReport,
        Pipeline,
    )
    from leslied.tail.watch import Watcher

SCAN_INTERVAL_SECONDS = 30.0
"""Seconds between two scans of all sources while file events arrive."""
POLL_INTERVAL_SECONDS = 10.0
"""Seconds between two scans where no file events arrive."""
_DEBOUNCE_SECONDS = 0.05
"""Pause after reading changed files: many events cost at most 20 reads a second."""
_TICK_SECONDS = 0.5
"""Longest wait for events: finished units are detected at least this often."""
_MAX_SESSIONS = 20
"""Sessions per stage and iteration: reading must not wait long for writing."""
_MAX_ARCHIVED_SOURCES = 200
"""Sources per run of the archive stage, for the same reason."""
_MAX_EXPORTED_SESSIONS = 5
"""Sessions per run of the exports stage, for the same reason."""
_RETRY_SECONDS = 5.0
"""Pause after an error that no stage handled."""


@dataclass(slots=True, kw_only=True)
class Loop:
    """The daemon's loop, in one thread; the watcher's threads only mark dirty paths."""

    pipeline: Pipeline
    make_pipeline: Callable[[], Pipeline]
    """Builds a pipeline from the current settings."""
    watcher: Watcher
    clock: Clock
    log: FilteringBoundLogger
    notifier: Notifier
    is_paused: Callable[[], bool] = lambda: False
    """Returns whether the user paused the daemon."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set to end the loop; may be set before `run` is called."""
    _next_scan: float = 0.0
    """Monotonic time of the next scan."""
    _changed_paths: Collection[Path] = ()
    """Files that the watcher reported in this iteration."""
    _is_busy: bool = False
    """Whether files changed at the last wait; less urgent work is then put off."""
    _has_written_transcripts: bool = False
    """Whether this iteration wrote transcripts."""
    _has_synced_relations: bool = False
    """Whether the relations stage can wait until something changes."""
    _has_exported: bool = False
    """Whether the exports stage can wait until something changes."""
    _has_archive_backlog: bool = False
    """Whether the last archive run left due sources."""
    _logged_errors: dict[str, str] = field(default_factory=dict)
    """The last logged reason, by the name or path of what failed."""

    def request_scan(self) -> None:
        """Wake the loop to scan with new settings, or to end if `stopping` is set."""
        self._next_scan = 0.0
        self.watcher.wake()

    def run(self) -> None:
        """Run the pipeline at every change and every scan until `stopping` is set."""
        self.watcher.start()
        self.log.info("daemon.start", folders=len(self.pipeline.roots))
        self.notifier.ready()
        try:
            while not self.stopping.is_set():
                self._run_once()
                self.notifier.ping()
        finally:
            self.notifier.stopping()
            self.watcher.stop()
            with suppress(LesliedError):
                self.pipeline.stop_detection.forget_live()
            self.log.info("daemon.stop")

    def _run_once(self) -> None:
        """Scan or wait for changes, then run all other stages; wait if paused."""
        if self.is_paused():
            self.watcher.wait(_TICK_SECONDS)
            self._next_scan = 0.0
            return
        try:
            if self.clock.monotonic() >= self._next_scan:
                self._scan()
            else:
                self._ingest_changes()
            self._run_stage("hook events", self._process_hook_events)
            self._run_stages()
        except Exception as error:  # noqa: BLE001 - the loop outlives every error
            # The disk may be full or the store busy. Nothing is lost by waiting.
            reason = describe_error(error)
            self.log.error("daemon.retry", reason=reason)  # noqa: TRY400
            self.stopping.wait(_RETRY_SECONDS)

    def _run_stage(self, name: str, work: Callable[[], object]) -> bool:
        """Run one stage; return whether it succeeded.

        A failure is logged and shown by `leslied status`, and the stage is retried
        after a pause. The other stages run all the same.
        """
        errors: dict[str, str] = {}
        has_succeeded = self.pipeline.failures.attempt("stage", name, work, errors)
        self._log_errors("stage.fail", errors)
        return has_succeeded

    def _scan(self) -> None:
        """Reload settings, check all sources and assets, and archive."""
        started_at = self.clock.monotonic()
        self._run_stage("config", self._reload_pipeline)
        self._run_stage("watch", self._refresh_watcher)
        for ingest in self.pipeline.ingests:
            name = f"ingest {ingest.adapter.name}"
            self._run_stage(name, partial(self._ingest_all, ingest))
        self._run_stage("asset index", self._scan_assets)
        self._run_stage("archive", self._archive)
        has_events = self.watcher.mode == "events"
        self._has_synced_relations = self._has_exported = False
        self._next_scan = started_at + (
            SCAN_INTERVAL_SECONDS if has_events else POLL_INTERVAL_SECONDS
        )

    def _refresh_watcher(self) -> None:
        """Watch the folders that exist now; log when events stop or arrive again."""
        self.watcher.refresh()
        error = self.watcher.error
        if self._logged_errors.get("watch", "") != error:
            self._logged_errors["watch"] = error
            reason = error or "file events arrive again"
            self.log.warning("watch.refresh", reason=reason)

    def _ingest_all(self, ingest: Ingest) -> None:
        report = ingest.scan()
        self._log_ingest("ingest.scan", report)
        # Logged only after a full scan, not after every file event: `claude -p` writes
        # its working directory about 100 ms after the prompt, so its log is held back
        # for a moment every time.
        waiting = {str(path): reason for path, reason in report.waiting.items()}
        self._log_errors("source.wait", waiting)

    def _scan_assets(self) -> None:
        self._log_asset_index(self.pipeline.asset_index.scan())

    def _archive(self) -> None:
        report = self.pipeline.archiver.run(limit=_MAX_ARCHIVED_SOURCES)
        self._handle_archiver_report(report)

    def _handle_archiver_report(self, report: ArchiverReport) -> None:
        """Log what was archived, and record whether more sources are due."""
        self._has_archive_backlog = report.has_more
        if report.bytes_written:
            self.log.info(
                "archive.write", logs=report.sources, bytes=report.bytes_written
            )

    def _reload_pipeline(self) -> None:
        """Apply the current settings; if they are invalid, log why and keep the old."""
        try:
            pipeline = self.make_pipeline()
        except UserError as error:
            if self._logged_errors.get("config") != error.message:
                self.log.warning("config.invalid", reason=error.message)
            self._logged_errors["config"] = error.message
            return
        pipeline.stop_detection.live_sessions.update(
            self.pipeline.stop_detection.live_sessions
        )
        pipeline.stop_detection.ended_sessions.update(
            self.pipeline.stop_detection.ended_sessions
        )
        self.pipeline = pipeline
        self.watcher.set_roots(pipeline.watched_roots)

    def _run_stages(self) -> None:
        """Run the stages that follow ingest and hook events.

        Relations, exports and the archive are slow: at most one of them runs in an
        iteration, and none if the iteration wrote transcripts.
        """
        self._has_written_transcripts = False
        self._run_stage("stop detection", self._detect_stops)
        self._run_stage("transcripts", self._write_transcripts)
        self._run_stage("asset index", self._index_assets)
        if self._has_written_transcripts:
            return
        # A stage that failed waits for the next scan and must not block the others.
        if not self._has_synced_relations:
            if not self._run_stage("relations", self._sync_relations):
                self._has_synced_relations = True
        elif not self._has_exported:
            if not self._run_stage("exports", self._write_exports):
                self._has_exported = True
        elif self._has_archive_backlog and not self._is_busy:
            self._run_stage("archive", self._archive_backlog)

    def _detect_stops(self) -> None:
        stopped = self.pipeline.stop_detection.run()
        if stopped:
            self.log.info("session.stop", sessions=stopped)
            self._has_synced_relations = self._has_exported = False

    def _write_transcripts(self) -> None:
        report = self.pipeline.transcripts.run(
            limit=_MAX_SESSIONS, include_old=not self._is_busy
        )
        if report.units:
            self._has_synced_relations = self._has_exported = False
        self._log_errors("transcripts.error", report.errors)
        if report.files_written:
            self._has_written_transcripts = True
            self.log.info(
                "transcripts.write", units=report.units, files=report.files_written
            )

    def _index_assets(self) -> None:
        self._log_asset_index(self.pipeline.asset_index.run(limit=_MAX_SESSIONS))

    def _archive_backlog(self) -> None:
        report = self.pipeline.archiver.archive_due(limit=_MAX_ARCHIVED_SOURCES)
        self._handle_archiver_report(report)

    def _sync_relations(self) -> None:
        """Update relations files; run again soon if threads moved or a file is busy."""
        report = self.pipeline.relations_sync.run()
        self._has_synced_relations = not (report.moved_threads or report.is_lock_busy)
        for old, new in report.moved_threads.items():
            self.log.info("thread.move", old=old, new=new)
        self._log_errors("relations.error", report.errors)
        if report.files_written:
            self.log.info("relations.write", files=report.files_written)

    def _log_asset_index(self, report: AssetIndexReport) -> None:
        self._log_errors("assets.error", report.errors)
        if report.files_written:
            self.log.info(
                "assets.write", threads=report.threads, files=report.files_written
            )

    def _log_errors(self, event: str, errors: dict[str, str]) -> None:
        """Log each error once, and again only when its reason changes."""
        for name, reason in errors.items():
            if self._logged_errors.get(name) != reason:
                self.log.warning(event, name=name, reason=reason)
            self._logged_errors[name] = reason

    def _write_exports(self) -> None:
        """Write the exports of a few stopped sessions."""
        report = self.pipeline.exports.run(limit=_MAX_EXPORTED_SESSIONS)
        self._has_exported = not report.has_more
        self._log_errors("exports.error", report.errors)
        if report.files_written:
            self.log.info(
                "exports.write", sessions=report.sessions, files=report.files_written
            )

    def _ingest_changes(self) -> None:
        """Wait for file events, at most one tick, and ingest the changed files."""
        self._changed_paths = set()
        if not self._run_stage("watch", self._wait_for_events):
            self.stopping.wait(_TICK_SECONDS)
        if self._changed_paths:
            for ingest in self.pipeline.ingests:
                name = f"ingest {ingest.adapter.name}"
                self._run_stage(name, partial(self._ingest_paths, ingest))
            self.stopping.wait(_DEBOUNCE_SECONDS)

    def _wait_for_events(self) -> None:
        """Save the paths that change until the next tick or scan."""
        remaining = self._next_scan - self.clock.monotonic()
        changes = self.watcher.wait(min(max(remaining, 0.0), _TICK_SECONDS))
        self._is_busy = bool(changes.paths)
        self._changed_paths = changes.paths
        if changes.needs_scan:
            self._next_scan = 0.0

    def _ingest_paths(self, ingest: Ingest) -> None:
        self._log_ingest("ingest.read", ingest.ingest_files(self._changed_paths))

    def _process_hook_events(self) -> None:
        """Read the logs that hooks named, and mark ended sessions as stopped."""
        report = self.pipeline.hook_events.run()
        self._log_ingest("ingest.read", report.ingest)
        if report.events:
            self.log.info("hooks.events", events=report.events, stopped=report.stopped)
        if report.dropped:
            self.log.warning("hooks.invalid", files=report.dropped)
        self._log_errors("hooks.fail", report.errors)
        for folder in report.unknown_folders:
            if self._logged_errors.get(str(folder)) != "unknown":
                self.log.warning("hooks.unknown_folder", path=str(folder))
            self._logged_errors[str(folder)] = "unknown"

    def _log_ingest(self, event: str, report: IngestReport) -> None:
        """Log errors, and the counts under this event name if there are new entries."""
        for path, reason in (report.errors | report.failures).items():
            self.log.warning("source.error", path=str(path), reason=reason)
        if report.entries:
            self.log.info(
                event,
                entries=report.entries,
                records=report.added.records,
                bytes=report.bytes_read,
                rejected=report.rejected,
            )
