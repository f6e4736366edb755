"""The exports stage: write stopped sessions in the configured export formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs
from msgspec.structs import replace

from leslied import sinks
from leslied.errors import SinkError, describe_error
from leslied.layout import exports_folder
from leslied.pipeline.failures import Failures
from leslied.pipeline.stage import FULL_BUDGET, Report, Stage, Timing
from leslied.redact.session import redact_session
from leslied.sessions.status import compute_status, compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leslied.clock import Clock
    from leslied.model.output import Artifact
    from leslied.model.session import Session, SessionSummary
    from leslied.pipeline.stage import Budget, StageContext
    from leslied.store import DueSession, Store, StoreReader


class ExportsReport(Report, kw_only=True):
    """Counts and errors of one run."""

    sessions: int = 0
    files_written: int = 0

    event = "exports.write"

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers to log."""
        return {"sessions": self.sessions, "files": self.files_written}


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
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
            is_used_up = len(finished) >= budget.max_exported_sessions
            if is_used_up or (finished and budget.should_yield()):
                report.has_more = True
                break
            work = partial(self._try_export, session, report, finished)
            self.failures.attempt("export", session.key.session_id, work, report.errors)
        if finished:
            with self.store.exports() as ledger:
                ledger.mark_exported(finished, formats_key)
        return report

    def _try_export(
        self, due: DueSession, report: ExportsReport, finished: list[DueSession]
    ) -> None:
        """Export a session if it has stopped, and add it to `finished`."""
        main = self.reader.find_session(due.key)
        if main is None or compute_status(main, self.clock.now()) != "stopped":
            return
        try:
            self._write_exports(main, report)
        except SinkError as error:
            report.errors[due.key.session_id] = error.message
            return
        report.sessions += 1
        finished.append(due)

    def _write_exports(self, main: SessionSummary, report: ExportsReport) -> None:
        session = redact_session(self._load_session(main), self.redact)
        folder = exports_folder(main.thread_id)
        with sinks.open_base_folder(Path(main.folder)) as output:
            for format_name in self.formats:
                for artifact in _render(format_name, session):
                    sinks.write_artifact(output, _prefix_paths(folder, artifact))
                    report.files_written += 1

    def _load_session(self, main: SessionSummary) -> Session:
        """Return the session with its units, subagents and costs, as in `show`."""
        from leslied.queries.resolve import ResolvedId  # noqa: PLC0415
        from leslied.queries.sessions import load_session_summary  # noqa: PLC0415
        from leslied.queries.units import load_session  # noqa: PLC0415

        agent, session_id, _ = main.key
        summary = load_session_summary(self.reader, agent, session_id, with_costs=True)
        with self.store.exports() as ledger:
            zone = timezone(timedelta(minutes=ledger.get_utc_offset(main.key)))
        resolved, now = ResolvedId(summary), self.clock.now()
        session = load_session(self.reader, resolved, now, zone)
        return structs.replace(session, status="stopped")


def _render(format_name: str, session: Session) -> Iterator[Artifact]:
    """Yield the files of an export; raise SinkError for any error in the sink."""
    try:
        yield from sinks.load_sinks()[format_name].render(session)
    except Exception as error:
        # A bug in one sink must not end the run.
        reason = describe_error(error)
        raise SinkError(f"the {format_name} export failed: {reason}") from error


def _prefix_paths(folder: str, artifact: Artifact) -> Artifact:
    """Return the artifact with all of its paths below the folder."""
    return replace(
        artifact,
        path=f"{folder}/{artifact.path}",
        replaces=tuple(f"{folder}/{name}" for name in artifact.replaces),
    )
