"""`leslied sync`: do the daemon's work once."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_source_errors, json_option
from leslied.cli.terminal.progress import ProgressBar
from leslied.model.source import SourceProblem
from leslied.pipeline import (
    AssetIndexReport,
    Budget,
    ExportsReport,
    HookEventsReport,
    Ingest,
    IngestReport,
    SettleReport,
    StopReport,
)
from leslied.rendering.humanize import (
    format_bytes,
    format_count,
    format_number,
    format_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.app import App
    from leslied.pipeline import FlowReport, Stage


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied sync && leslied list", "read new entries, then list sessions"),
        ("leslied sync --stop-all", "write the transcripts of all sessions"),
        ("leslied sync --json", "print a report as JSON"),
    ],
    see_also=["run", "service", "status"],
)
@click.option(
    "--stop-all",
    is_flag=True,
    help="Treat all sessions as stopped: write all transcripts, archive all logs.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, stop_all: bool, as_json: bool) -> None:
    """Read new log entries once, without the daemon.

    Do the daemon's work once, for scripts and cron jobs; logs are archived only with
    --stop-all, which treats every session as stopped. The command fails if the daemon
    is running.

    Every complete log entry is stored exactly once, however often the command runs or
    is interrupted.
    """
    # Ingest creates many objects but no cycles; the default thresholds cost 5 % time.
    gc.set_threshold(100_000, 20, 20)
    app = get_app(ctx)
    started_at = app.clock.monotonic()
    warnings: list[str] = []
    report = _sync(app, warnings.append, stop_all=stop_all)
    ingest_report = report.sum_up(IngestReport)
    data = _report_to_dict(report, app.clock.monotonic() - started_at)
    errors = ingest_report.unreadable | ingest_report.waiting | ingest_report.failures
    problems = [SourceProblem(str(path), reason) for path, reason in errors.items()]
    warnings += format_source_errors(problems) + report.format_errors()
    emit(
        data,
        lambda: _lines(ingest_report, data, app),
        as_json=as_json,
        warnings=warnings,
    )
    if report.failures:
        ctx.exit(1)


def _sync(app: App, warn: Callable[[str], None], *, stop_all: bool) -> FlowReport:
    """Run all stages once, with progress bars."""
    with (
        ProgressBar(app.clock) as bar,
        app.open_store(warn, bar.update) as store,
        app.open_reader() as reader,
    ):

        def show_stage(stage: Stage) -> None:
            is_ingest = isinstance(stage, Ingest)
            bar.start(stage.activity, format_bytes if is_ingest else format_number)

        flow = app.make_flow(store, reader, is_final=stop_all, on_progress=bar.update)
        # Sessions that ended before the store was created are many, and their
        # transcripts are rarely needed.
        return flow.run(Budget(includes_backlog=stop_all), show_stage)


def _report_to_dict(report: FlowReport, seconds: float) -> dict[str, Any]:
    ingest_report = report.sum_up(IngestReport)
    settle_report = report.sum_up(SettleReport)
    asset_report = report.sum_up(AssetIndexReport)
    hook_report, stop_report = (
        report.sum_up(HookEventsReport),
        report.sum_up(StopReport),
    )
    return {
        "sources": ingest_report.sources,
        "sources_changed": ingest_report.sources_read,
        "sources_waiting": len(ingest_report.waiting),
        "entries_decoded": ingest_report.entries,
        "bytes_read": ingest_report.bytes_read,
        "records_added": ingest_report.added.records,
        "placements_added": ingest_report.added.placements,
        "noise": ingest_report.noise,
        "rejected": ingest_report.rejected,
        "transactions": ingest_report.commits,
        "units_settled": settle_report.units,
        "transcripts_written": settle_report.files_written,
        "transcripts_removed": settle_report.files_removed,
        "exports_written": report.sum_up(ExportsReport).files_written,
        "sessions_stopped": hook_report.stopped + stop_report.stopped,
        "seconds": round(seconds, 3),
        "missing_roots": [str(path) for path in ingest_report.missing_roots],
        "threads_indexed": asset_report.threads,
        "index_files_written": asset_report.files_written,
    }


def _lines(
    ingest_report: IngestReport, data: dict[str, Any], app: App
) -> Iterator[str]:
    home = str(app.home)
    if not ingest_report.sources:
        yield "No agent has written logs on this machine yet. Looked in:"
        for path in ingest_report.missing_roots:
            yield f"  {format_path(str(path), home)}"
        return
    size = format_bytes(ingest_report.bytes_read)
    yield (
        f"{ingest_report.sources} logs, {ingest_report.sources_read} changed: "
        f"{ingest_report.entries} new entries ({size}) in {data['seconds']:.1f} s"
    )
    if ingest_report.entries:
        yield (
            f"{ingest_report.added.records} records, {ingest_report.noise} noise, "
            f"{ingest_report.rejected} rejected. List sessions with: leslied list"
        )
    if data["transcripts_written"]:
        count = format_count(data["transcripts_written"], "transcript")
        yield f"{count} written. List them: leslied threads list"
    if data["exports_written"]:
        yield f"{data['exports_written']} export files written"
    if data["sessions_stopped"]:
        yield f"{data['sessions_stopped']} sessions and subagents marked as stopped"
