"""The exports stage: write stopped sessions in the configured export formats."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta, timezone
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from leslied import sinks
from leslied.errors import SinkError
from leslied.layout import exports_folder
from leslied.model.record import SessionKey
from leslied.model.session import Session
from leslied.model.stats import Cost
from leslied.pipeline.failures import Failures
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage, Timing
from leslied.prices import load_prices
from leslied.queries import UsageStats
from leslied.redact.session import redact_session
from leslied.sessions import RecordStream, assemble, compute_status, find_reported_cost
from leslied.sessions.status import compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leslied.clock import Clock
    from leslied.model.output import Artifact
    from leslied.model.session import SessionSummary
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import DueSession, Store, StoreReader


@dataclass(slots=True, kw_only=True)
class ExportsReport(Report):
    """Counts and errors of one run."""

    sessions: int = 0
    files_written: int = 0

    event = "exports.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"sessions": self.sessions, "files": self.files_written}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports(Stage):
    """The exports stage."""

    store: Store
    reader: StoreReader
    redact: Callable[[str], str]
    clock: Clock
    formats: tuple[str, ...] = ()
    failures: Failures = field(default_factory=Failures)
    name = "exports"
    timing = Timing.WHEN_QUIET

    @classmethod
    def make(cls, context: StageContext) -> Exports:
        """Make the stage."""
        return cls(
            store=context.store,
            reader=context.reader,
            redact=context.redact,
            clock=context.clock,
            formats=context.settings.output.formats,
            failures=context.failures,
        )

    def run(self, budget: Budget = FULL_BUDGET) -> ExportsReport:
        """Export stopped sessions that are new or grew since their last export.

        The files are written to the thread's `.meta/exports` folder.
        """
        report = ExportsReport()
        if not self.formats:
            return report
        formats_key = " ".join(self.formats)
        # The reader must see what earlier stages recorded in this run.
        self.store.flush()
        with self.store.exports() as ledger:
            due = ledger.list_due(formats_key, compute_stop_cutoff_us(self.clock.now()))
        finished: list[DueSession] = []
        for session in due:
            if len(finished) >= budget.max_exported_sessions:
                report.has_more = True
                break
            work = partial(self._try_export, session, report, finished)
            self.failures.attempt("export", session.session_id, work, report.errors)
        if finished:
            with self.store.exports() as ledger:
                ledger.mark_exported(finished, formats_key)
        return report

    def _try_export(
        self, due: DueSession, report: ExportsReport, finished: list[DueSession]
    ) -> None:
        """Export a session if it has stopped, and add it to `finished`."""
        main = self.reader.find_session(SessionKey(due.agent, due.session_id))
        if main is None or compute_status(main, self.clock.now()) != "stopped":
            return
        try:
            self._write_exports(main, report)
        except SinkError as error:
            report.errors[due.session_id] = error.message
            return
        report.sessions += 1
        finished.append(due)

    def _write_exports(self, main: SessionSummary, report: ExportsReport) -> None:
        session = redact_session(self._load_session(main), self.redact)
        folder = exports_folder(main.thread_id)
        for format_name in self.formats:
            for artifact in _render(format_name, session):
                sinks.write_artifact(Path(main.folder), _prefix_paths(folder, artifact))
                report.files_written += 1

    def _load_session(self, main: SessionSummary) -> Session:
        """Return the session with all of its units, subagents and costs."""
        children = self.reader.list_children(main)
        units = assemble(
            RecordStream(main, tuple(self.reader.list_records(main.row))),
            [RecordStream(c, tuple(self.reader.list_records(c.row))) for c in children],
        )
        with self.store.exports() as ledger:
            offset = ledger.get_utc_offset(main.row)
        return Session(
            summary=self._include_subagents(main),
            units=tuple(self.reader.add_transcript_paths(unit) for unit in units),
            status="stopped",
            cost_usd=self._find_cost(main) or find_reported_cost(units),
            zone=timezone(timedelta(minutes=offset)),
        )

    def _find_cost(self, main: SessionSummary) -> float | None:
        """Return the cost as `leslied list` shows it, in US dollars, or None.

        Each message counts once, at the prices of its day.
        """
        rows = [main.row, *(s.row for s in self.reader.list_subagents(main.key))]
        costs = UsageStats(self.reader.usage, load_prices()).sum_session_costs(rows)
        return reduce(Cost.plus, (costs.get(row, Cost()) for row in rows)).usd

    def _include_subagents(self, main: SessionSummary) -> SessionSummary:
        """Return the summary as `leslied list` shows it, with subagents included.

        Its tokens are the sum, and its end is the latest end, of session and subagents.
        """
        subagents = self.reader.list_subagents(main.key)
        ends = [s.ended_at for s in (main, *subagents) if s.ended_at]
        return structs.replace(
            main,
            usage=self.reader.sum_usage([main.row, *(s.row for s in subagents)]),
            subagents=len(subagents),
            ended_at=max(ends, default=None),
        )


def _render(format_name: str, session: Session) -> Iterator[Artifact]:
    """Yield the files of an export; raise SinkError for any error in the sink."""
    try:
        yield from sinks.load_sinks()[format_name].render(session)
    except Exception as error:
        # A bug in one sink must not end the run.
        raise SinkError(f"the {format_name} export failed: {error!r}") from error


def _prefix_paths(folder: str, artifact: Artifact) -> Artifact:
    """Return the artifact with all of its paths below the folder."""
    return replace(
        artifact,
        path=f"{folder}/{artifact.path}",
        replaces=tuple(f"{folder}/{name}" for name in artifact.replaces),
    )
