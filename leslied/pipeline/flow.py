"""The flow: all stages in order, as the daemon and `leslied sync` run them.

1. Ingest, one stage for each agent, commits new entries.
2. Redecode decodes again the sources that an older decoder read, a few in each run.
3. Hook events name logs to read at once, turns that end, and sessions that ended.
4. Stop detection marks sessions as live or stopped; whether a unit is finished depends
   on it.
5. Projects are found for new working directories; they decide where files go.
6. Transcripts are written for finished units.
7. Relations come after transcripts, because a thread begins to exist with its first
   transcript. If Leslie gave a thread another id, the flow goes back to 6 and writes
   its transcripts under the new id.
8. Moved threads: the central files of threads that moved to their project are deleted.
9. The asset index lists the assets of threads, transcripts included.
10. Exports are written for stopped sessions that have all their transcripts.
11. The archive copies the logs of idle and stopped sessions.
12. The archive check verifies files of the archive and repairs damaged ones.

A new stage is a module in `stages`, and a line in `make_stages` with its import.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from leslied.pipeline.ingest.stage import Ingest
from leslied.pipeline.stage import Report, Stage, Timing
from leslied.pipeline.stages.archive import Archiver
from leslied.pipeline.stages.archive_check import ArchiveCheck
from leslied.pipeline.stages.asset_index import AssetIndex
from leslied.pipeline.stages.exports import Exports
from leslied.pipeline.stages.hook_events import HookEvents
from leslied.pipeline.stages.moved_threads import MovedThreads
from leslied.pipeline.stages.projects import ProjectStage
from leslied.pipeline.stages.redecode import RedecodeStage
from leslied.pipeline.stages.relations import RelationsSync
from leslied.pipeline.stages.stop_detection import StopDetection
from leslied.pipeline.stages.transcripts import TranscriptStage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leslied.model.source import Root
    from leslied.pipeline.failures import Failures
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import Store

R = TypeVar("R", bound=Report)
S = TypeVar("S", bound=Stage)
_MAX_POSTPONEMENTS = 10
"""Runs in a row that leave out a stage which can wait; together, a few seconds."""
_MAX_RESTARTS = 2
"""How often a run goes back to an earlier stage; a thread moves only once."""


def make_stages(context: StageContext) -> list[Stage]:
    """Return all stages, in the order in which they run."""
    ingests = [
        Ingest.make(context, adapter, roots) for adapter, roots in context.agents
    ]
    stop_detection = StopDetection.make(context)
    hook_events = HookEvents.make(context, ingests, stop_detection)
    archiver = Archiver.make(context)
    return [
        *ingests,
        RedecodeStage.make(context, ingests),
        hook_events,
        stop_detection,
        ProjectStage.make(context),
        TranscriptStage.make(context, hook_events.announced_ends),
        RelationsSync.make(context),
        MovedThreads.make(context),
        AssetIndex.make(context),
        Exports.make(context),
        archiver,
        ArchiveCheck(archiver=archiver),
    ]


class FlowReport(Struct, eq=False):
    """The reports of the stages that ran, and the reasons why others failed."""

    reports: list[Report] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    """Reasons of unexpected errors, by the name of the stage."""

    def sum_up(self, kind: type[R]) -> R:
        """Return the sum of all reports of a kind."""
        total = kind()
        for report in self.reports:
            if isinstance(report, kind):
                total.add(report)
        return total

    def find_next_due_time(self) -> datetime | None:
        """Return the earliest time at which a stage has work again, or None."""
        due_times = (time for report in self.reports for time in report.due_times)
        return min(due_times, default=None)

    def format_errors(self) -> list[str]:
        """Return a line for each error and each stage that failed."""
        errors = dict(self.failures)
        for report in self.reports:
            errors |= report.errors
        return [f"{name}: {reason}" for name, reason in errors.items()]


class Flow(Struct, eq=False):
    """The stages and which of them have work left."""

    stages: Sequence[Stage]
    store: Store
    failures: Failures
    awake: set[str] = field(default_factory=set)
    """Names of the stages that have work left, or may have."""
    postponements: Counter[str] = field(default_factory=Counter)
    """In how many runs in a row each stage was postponed."""

    @property
    def watched_roots(self) -> list[Root]:
        """Return the folders whose changes some stage wants to know at once."""
        return [root for stage in self.stages for root in stage.watched_roots]

    @property
    def has_urgent_work(self) -> bool:
        """Return whether the next run must not wait for a change."""
        return any(
            stage.timing is Timing.EVERY_RUN and stage.name in self.awake
            for stage in self.stages
        )

    @property
    def is_idle(self) -> bool:
        """Return whether only a change of a file or a scan can bring new work."""
        return not self.awake and not any(stage.is_polling for stage in self.stages)

    def select(self, *kinds: type[Stage]) -> Flow:
        """Return a flow of only those stages that are of these kinds."""
        stages = [stage for stage in self.stages if isinstance(stage, kinds)]
        return Flow(stages, self.store, self.failures)

    def get_stage(self, kind: type[S]) -> S:
        """Return the only stage of a kind."""
        (stage,) = (stage for stage in self.stages if isinstance(stage, kind))
        return stage

    def adopt(self, previous: Flow) -> None:
        """Take over the state of the flow from before the settings were reloaded."""
        self.awake = previous.awake
        self.postponements = previous.postponements
        previous_stages = {stage.name: stage for stage in previous.stages}
        for stage in self.stages:
            if stage.name in previous_stages:
                stage.adopt(previous_stages[stage.name])

    def close(self) -> None:
        """Close all stages, because leslied ends."""
        self.failures.end_work()
        for stage in self.stages:
            stage.close()

    def run(
        self, budget: Budget, on_stage: Callable[[Stage], None] = lambda _: None
    ) -> FlowReport:
        """Run each stage that may have work; call `on_stage` before each.

        A stage that fails unexpectedly does not stop the others. It is named by
        `leslied status` and tried again after a pause.
        """
        run = _Run(self, budget, on_stage)
        with self.store.group_commits():
            position = 0
            while position < len(self.stages) and not budget.is_stopping():
                position = run.run_stage(position)
        return run.report


class _Run(Struct, eq=False):
    """One run of a flow."""

    flow: Flow
    budget: Budget
    on_stage: Callable[[Stage], None]
    report: FlowReport = field(default_factory=FlowReport)
    _has_changes: bool = False
    _has_run_slow_stage: bool = False
    _restarts: int = 0

    def run_stage(self, position: int) -> int:
        """Run a stage if it is due; return the position of the next stage."""
        stage = self.flow.stages[position]
        if self._is_due(stage):
            self.on_stage(stage)
            report = self._attempt(stage)
            if report.restart_from and self._restarts < _MAX_RESTARTS:
                self._restarts += 1
                # Earlier stages must see what this one recorded.
                self.flow.store.flush()
                names = [each.name for each in self.flow.stages]
                return names.index(report.restart_from)
        return position + 1

    def _is_due(self, stage: Stage) -> bool:
        """Return whether to run a stage now.

        Between scans, a run has at most one slow stage, and none after changes.
        """
        if self.budget.is_scan:
            return True
        if stage.can_wait and self._postpone(stage):
            return False
        if stage.timing is Timing.EVERY_RUN:
            return True
        if stage.name not in self.flow.awake:
            return False
        is_slow = stage.timing is not Timing.ON_CHANGE
        return not (is_slow and (self._has_changes or self._has_run_slow_stage))

    def _postpone(self, stage: Stage) -> bool:
        """Return whether to leave a stage to a later run; limit how often in a row."""
        counts = self.flow.postponements
        if counts[stage.name] < _MAX_POSTPONEMENTS and self.budget.should_yield():
            counts[stage.name] += 1
            return True
        counts[stage.name] = 0
        return False

    def _attempt(self, stage: Stage) -> Report:
        """Run a stage and record whether it, or another one, has work left.

        After an unexpected error, the stage waits for a change or the next scan, so
        that it does not keep others waiting. The report is then empty.
        """
        reports: list[Report] = []
        self.flow.failures.attempt(
            "stage",
            stage.name,
            lambda: reports.append(stage.run(self.budget)),
            self.report.failures,
        )
        self.report.reports += reports
        report = reports[0] if reports else Report()
        self.flow.awake.discard(stage.name)
        if report.has_more:
            self.flow.awake.add(stage.name)
        if report.has_changes:
            self._has_changes = True
            self._wake_stages()
        if stage.timing in (Timing.WHEN_QUIET, Timing.AFTER_SCAN):
            self._has_run_slow_stage = True
        return report

    def _wake_stages(self) -> None:
        """Mark the stages that depend on changes as having work."""
        for stage in self.flow.stages:
            if stage.timing in (Timing.ON_CHANGE, Timing.WHEN_QUIET):
                self.flow.awake.add(stage.name)
