"""What hooks told: a look at the log they name, now, and sessions that ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from leslied.errors import StoreUnusable
from leslied.hooks import inbox, injection_state, spool
from leslied.hooks.files import remove_file
from leslied.hooks.thread import AGENT
from leslied.pipeline.batch import IngestReport
from leslied.pipeline.failures import Failures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.clock import Clock
    from leslied.pipeline.ingest import Ingest
    from leslied.pipeline.stop_detection import StopDetection

_MAX_ATTEMPTS = 3


@dataclass(slots=True)
class HookEventsReport:
    """What the spool held, and what came of it."""

    events: int = 0
    dropped: list[str] = field(default_factory=list)
    """Names of files that could not be used and were removed."""
    stopped: int = 0
    ingest: IngestReport = field(default_factory=IngestReport)
    errors: dict[str, str] = field(default_factory=dict)
    """Files whose event failed unexpectedly, and why; they are tried again."""
    unknown_folders: set[Path] = field(default_factory=set)
    """Folders of logs that no agent's root holds."""


@dataclass(frozen=True, slots=True)
class HookEvents:
    """Listens to the spool; without hooks there is none, and that costs one look."""

    data_dir: Path
    ingests: Sequence[Ingest]
    stop_detection: StopDetection
    clock: Clock
    failures: Failures = field(default_factory=Failures)

    @property
    def spool_dir(self) -> Path:
        """Where hooks leave word."""
        return self.data_dir / spool.FOLDER

    def run(self) -> HookEventsReport:
        """Read the logs that hooks named, and stop the sessions that ended.

        A file whose event fails unexpectedly stays in the spool until it succeeds, or
        has failed too often: it is a hint, and the next scan makes up for it.
        """
        now_ns = int(self.clock.now().timestamp() * 1e9)
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
        try:
            self._use(list(events.values()), report, now_ns)
        except StoreUnusable:
            raise
        except Exception:  # noqa: BLE001 - find out which event it was
            done = [
                p for p, e in events.items() if self._use_alone(p, e, report, now_ns)
            ]
        else:
            done = list(events)
        for path in done:
            remove_file(path)
        return report

    def _use_alone(
        self, path: str, event: dict[str, str], report: HookEventsReport, now_ns: int
    ) -> bool:
        """Use one event; return whether its file is no longer needed."""
        name, errors = Path(path).name, dict[str, str]()
        work = partial(self._use, [event], report, now_ns)
        if self.failures.attempt("hook event", name, work, errors):
            return True
        report.errors |= errors
        if self.failures.attempts("hook event", name) < _MAX_ATTEMPTS:
            return False
        self.failures.clear("hook event", name)
        report.dropped.append(name)
        return True

    def _use(
        self, events: list[dict[str, str]], report: HookEventsReport, now_ns: int
    ) -> None:
        self._ingest_named_logs(events, report)
        ended = [
            event["session_id"]
            for event in events
            if event["hook_event_name"] == "SessionEnd" and "session_id" in event
        ]
        if ended:
            report.stopped += self.stop_detection.mark_ended(AGENT, ended)
            injection_state.delete_old(str(self.data_dir), now_ns)
            inbox.delete_old(str(self.data_dir), now_ns)

    def _ingest_named_logs(
        self, events: list[dict[str, str]], report: HookEventsReport
    ) -> None:
        names = ("transcript_path", "agent_transcript_path")
        named = {event.get(name, "") for event in events for name in names}
        paths = [Path(path) for path in sorted(named) if _is_absolute_path(path)]
        roots = [root.path for ingest in self.ingests for root in ingest.roots]
        for path in paths:
            if not any(path.is_relative_to(root) for root in roots):
                report.unknown_folders.add(path.parent)
        for ingest in self.ingests:
            if ingest.adapter.name == AGENT:
                report.ingest += ingest.ingest_files(paths)


def _is_absolute_path(text: str) -> bool:
    return text.startswith("/") and "\0" not in text
