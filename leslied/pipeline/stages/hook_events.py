"""The hook events stage: read logs that hooks name, record ends that they announce."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from leslied.errors import StoreUnusable
from leslied.hooks import AGENT_NAME, inbox, injection_state, scope, spool
from leslied.hooks.files import remove_file
from leslied.model.record import SessionKey
from leslied.model.session import Activity
from leslied.model.source import Environment, Root, WatchDepth
from leslied.model.times import from_us, to_ns
from leslied.pipeline.failures import Failures
from leslied.pipeline.ingest.batch import IngestReport
from leslied.pipeline.root_learning import RootLearner
from leslied.pipeline.stage import FULL_BUDGET, LogEvent, Report, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leslied.clock import Clock
    from leslied.model.session import WaitingFor
    from leslied.pipeline.ingest.stage import Ingest
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.pipeline.stages.stop_detection import StopDetection

_MAX_ANNOUNCED_ENDS = 200
"""Announced ends of turns that are remembered; the oldest are forgotten."""
_WAITING_FOR: dict[str, WaitingFor] = {
    "permission_prompt": "permission",
    "idle_prompt": "prompt",
    "elicitation_dialog": "question",
}
"""What a session waits for, by the type of a notification."""
_MAX_ATTEMPTS = 3
"""Attempts after which an event that fails unexpectedly is dropped."""


class HookEventsReport(Report, kw_only=True):
    """Counts of one run, and the names of spool files whose event failed."""

    events: int = 0
    dropped: list[str] = msgspec.field(default_factory=list)
    """Names of spool files that could not be used and were removed."""
    stopped: int = 0
    """Sessions that were marked as stopped."""
    ingest: IngestReport = msgspec.field(default_factory=IngestReport)
    unknown_folders: set[Path] = msgspec.field(default_factory=set)
    """Folders of named logs that are not below any agent's root."""
    learned_roots: set[Path] = msgspec.field(default_factory=set)
    """Folders of the agent that were learned from named logs."""

    event = "hooks.events"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"events": self.events, "stopped": self.stopped}

    @property
    def has_changes(self) -> bool:
        """Return whether later stages may have new work."""
        return self.stopped > 0

    @property
    def needs_reload(self) -> bool:
        """Return whether there are new folders to read."""
        return bool(self.learned_roots)

    def list_events(self) -> Iterator[LogEvent]:
        """Yield everything that the daemon logs, with each learned folder."""
        yield from Report.list_events(self)
        for folder in self.learned_roots:
            yield LogEvent("hooks.learn", {"path": str(folder)}, is_warning=False)

    def list_warnings(self) -> Iterator[LogEvent]:
        """Yield a log event for everything that could not be used."""
        yield from self.ingest.list_events()
        for name, reason in self.errors.items():
            yield LogEvent("hooks.fail", {"name": name, "reason": reason})
        for name in self.dropped:
            yield LogEvent("hooks.invalid", {"name": name})
        for folder in self.unknown_folders:
            yield LogEvent("hooks.unknown_folder", {"path": str(folder)})


@dataclass(slots=True, eq=False, repr=False)
class HookEvents(Stage):
    """The hook events stage. Without hooks, it has nothing to do."""

    data_dir: Path
    ingests: Sequence[Ingest]
    stop_detection: StopDetection
    clock: Clock
    failures: Failures = field(default_factory=Failures)
    learner: RootLearner | None = None
    exclude: tuple[str, ...] = ()
    """Globs of the folders whose sessions are not stored."""
    announced_ends: dict[SessionKey, datetime] = field(default_factory=dict)
    """When a hook last announced the end of a session's turn, the latest last. This is
    not saved: without it, the transcript is written two seconds later."""
    name = "hook events"

    @classmethod
    def make(
        cls,
        context: StageContext,
        ingests: Sequence[Ingest],
        stop_detection: StopDetection,
    ) -> HookEvents:
        """Make the stage; it uses two others."""
        return cls(
            context.paths.data_dir,
            ingests,
            stop_detection,
            context.clock,
            context.failures,
            _make_learner(context),
            context.settings.projects.exclude,
        )

    @property
    def watched_roots(self) -> Sequence[Root]:
        """Return the spool, to handle events at once."""
        return [Root(path=self.spool_dir, patterns=(), watch=WatchDepth.FLAT)]

    @property
    def spool_dir(self) -> Path:
        """Return the folder of pending hook events."""
        return self.data_dir / spool.FOLDER

    def adopt(self, previous: HookEvents) -> None:
        """Take over the announced ends of turns."""
        self.announced_ends.update(previous.announced_ends)

    def run(self, budget: Budget = FULL_BUDGET) -> HookEventsReport:
        """Read the logs that hooks named, record ends of turns and of sessions.

        A file whose event fails unexpectedly stays in the spool until it succeeds or
        has failed too often. No entry is lost then: the next scan reads the log.
        """
        if budget.is_scan:
            self._save_scope()
        now_ns = to_ns(self.clock.now())
        spooled = spool.read_events(str(self.data_dir), now_ns)
        report = HookEventsReport(dropped=spooled.dropped)
        events = {
            path: event
            for path, event in zip(spooled.paths, spooled.events, strict=True)
            if not self.failures.is_paused("hook event", Path(path).name)
        }
        if not events:
            return report
        report.events = len(events)
        self._record_announced_ends(events, now_ns)
        try:
            self._process(events, report, now_ns)
        except StoreUnusable:
            raise
        except Exception:  # noqa: BLE001 - find out which event failed
            processed = [
                path
                for path, event in events.items()
                if self._process_alone(path, event, report, now_ns)
            ]
        else:
            processed = list(events)
        for path in processed:
            remove_file(path)
        return report

    def _record_announced_ends(
        self, events: Mapping[str, dict[str, str]], now_ns: int
    ) -> None:
        """Record when hooks announced that a turn ends; forget the oldest."""
        for path, event in events.items():
            if event["hook_event_name"] == "Stop" and "session_id" in event:
                key = SessionKey(AGENT_NAME, event["session_id"])
                self.announced_ends.pop(key, None)
                time_ns = min(spool.parse_time_ns(path), now_ns)
                self.announced_ends[key] = from_us(time_ns // 1000)
        for key in list(self.announced_ends)[:-_MAX_ANNOUNCED_ENDS]:
            del self.announced_ends[key]

    def _record_waiting(
        self, events: Mapping[str, dict[str, str]], now_ns: int
    ) -> None:
        """Record what sessions wait for; their logs must have been read before."""
        activities = {
            event["session_id"]: Activity(
                _WAITING_FOR[event["notification_type"]],
                min(spool.parse_time_ns(path), now_ns) // 1000,
            )
            for path, event in events.items()
            if event.get("notification_type") in _WAITING_FOR and "session_id" in event
        }
        if activities:
            self.stop_detection.mark_waiting(AGENT_NAME, activities)

    def _process_alone(
        self, path: str, event: dict[str, str], report: HookEventsReport, now_ns: int
    ) -> bool:
        """Process one event; return whether its file can be deleted."""
        name = Path(path).name
        errors: dict[str, str] = {}
        work = partial(self._process, {path: event}, report, now_ns)
        if self.failures.attempt("hook event", name, work, errors):
            return True
        report.errors |= errors
        if self.failures.count_attempts("hook event", name) < _MAX_ATTEMPTS:
            return False
        self.failures.clear("hook event", name)
        report.dropped.append(name)
        return True

    def _process(
        self,
        events: Mapping[str, dict[str, str]],
        report: HookEventsReport,
        now_ns: int,
    ) -> None:
        """Ingest the logs that the events name; mark ended and waiting sessions."""
        self._ingest_named_logs(list(events.values()), report)
        ended_ids = [
            event["session_id"]
            for event in events.values()
            if event["hook_event_name"] == "SessionEnd" and "session_id" in event
        ]
        if ended_ids:
            report.stopped += self.stop_detection.mark_ended(AGENT_NAME, ended_ids)
            injection_state.delete_old(str(self.data_dir), now_ns)
            inbox.delete_old(str(self.data_dir), now_ns)
        self._record_waiting(events, now_ns)

    def _ingest_named_logs(
        self, events: list[dict[str, str]], report: HookEventsReport
    ) -> None:
        keys = ("transcript_path", "agent_transcript_path")
        logs = {event.get(key, "") for event in events for key in keys}
        paths = [Path(log) for log in sorted(logs) if _is_absolute_path(log)]
        for path in paths:
            if not self._is_below_root(path):
                self._learn_root(path, report)
        for ingest in self.ingests:
            if ingest.adapter.name == AGENT_NAME:
                report.ingest += ingest.ingest_files(paths)

    def _is_below_root(self, path: Path) -> bool:
        roots = [root.path for ingest in self.ingests for root in ingest.roots]
        return any(path.is_relative_to(root) for root in roots)

    def _learn_root(self, log: Path, report: HookEventsReport) -> None:
        """Learn the folder of a log that is not below any root, if it is safe."""
        with suppress(OSError):
            if self._is_below_root(log.resolve()):
                return
        folder = self.learner.learn(log) if self.learner else None
        if folder:
            report.learned_roots.add(folder)
        else:
            report.unknown_folders.add(log.parent)

    def _save_scope(self) -> None:
        """Tell hooks which logs are read; none if the agent is disabled."""
        is_enabled = self.learner is None or self.learner.is_enabled
        roots = [
            str(root.path)
            for ingest in self.ingests
            for root in ingest.roots
            if is_enabled and ingest.adapter.name == AGENT_NAME
        ]
        with suppress(OSError):
            scope.save(str(self.data_dir), roots, list(self.exclude))


def _make_learner(context: StageContext) -> RootLearner:
    (adapter,) = (each for each, _ in context.agents if each.name == AGENT_NAME)
    environment = Environment(home=context.home, environ={}, platform="")
    return RootLearner(
        agent=AGENT_NAME,
        data_dir=context.paths.data_dir,
        own_folders=(context.paths.data_dir, context.paths.state_dir),
        make_roots=lambda folder: list(adapter.roots(environment, [folder])),
        is_enabled=context.settings.agent(AGENT_NAME).enabled,
    )


def _is_absolute_path(text: str) -> bool:
    """Return whether the untrusted text can be an absolute path."""
    return text.startswith("/") and "\0" not in text
