"""`leslied sync`: do the daemon's work once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied import jobs
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_source_errors, json_option
from leslied.cli.terminal.progress import ProgressBar
from leslied.rendering.humanize import format_bytes, format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.command_results import SyncResult


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
    """Read new log entries once and write the transcripts that are due.

    Use it without the daemon, in scripts and cron jobs. The command fails if the daemon
    is running.

    --stop-all treats every session as stopped: all transcripts are written and all logs
    are copied into the archive. Without it, nothing is archived, and sessions that
    ended before the first sync get no transcripts.

    Every complete log entry is stored exactly once, however often the command runs or
    is interrupted.
    """
    app = get_app(ctx)
    with ProgressBar(app.clock) as bar:
        report = jobs.sync(app, bar, stop_all=stop_all)
    problems = format_source_errors(report.problems)
    emit(
        report.result.to_dict,
        lambda: _lines(report.result),
        as_json=as_json,
        warnings=[*report.warnings, *problems, *report.errors],
    )
    if report.is_failed:
        ctx.exit(1)


def _lines(result: SyncResult) -> Iterator[str]:
    if not result.sources:
        yield "No agent has written logs on this machine yet."
        yield "See where leslied looks: leslied agents"
        return
    size = format_bytes(result.bytes_read)
    noun = "entry" if result.entries_decoded == 1 else "entries"
    yield (
        f"{format_count(result.sources, 'log')}, {result.sources_changed} changed: "
        f"{result.entries_decoded} new {noun} ({size}) in {result.seconds:.1f} s"
    )
    if result.entries_decoded:
        yield (
            f"{result.records_added} records, {result.noise} noise, "
            f"{result.rejected} rejected. List sessions with: leslied list"
        )
    if result.transcripts_written:
        count = format_count(result.transcripts_written, "transcript")
        yield f"{count} written. List them: leslied threads list"
    if result.exports_written:
        yield f"{result.exports_written} export files written"
    if result.sessions_stopped:
        yield f"Marked as stopped: {result.sessions_stopped} sessions and subagents"
