"""`leslied doctor`: check logs, store, settings and machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied import repair
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.log_proof import format_mark, format_proof
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.cli.terminal.progress import ProgressBar
from leslied.errors import UserError
from leslied.queries.operations.health import CheckResult, check_health
from leslied.rendering.humanize import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.model.log_proof import ProofReport
    from leslied.queries.operations.health import HealthReport


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied doctor", "check and print what to do"),
        ("leslied doctor --fix", "repair the archive and permissions"),
        ("leslied doctor --deep", "also prove that no entry of any log is missing"),
        ("leslied doctor --deep --agent NAME", "compare the logs of one agent"),
        ("leslied doctor --json", "print the results as JSON"),
    ],
    exit_codes=[(1, "a check failed, or entries are missing from the store")],
    see_also=["status", "agents", "bundle"],
)
@click.option(
    "--fix",
    is_flag=True,
    help="First repair damaged files of the archive from the logs, and deny other "
    "users access to leslied's files and folders.",
)
@click.option(
    "--deep",
    is_flag=True,
    help="Also decode every log again and compare each entry with the store.",
)
@click.option("--agent", metavar="NAME", help="With --deep, only logs of this agent.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, fix: bool, deep: bool, agent: str | None, as_json: bool
) -> None:
    """Check logs, store, settings and machine, and suggest repairs.

    Run this first if leslied does not work as expected. Without --fix, nothing is
    changed. The whole store and archive are read to find damage, which may take a
    while.

    With --deep, every complete line or row of every log must be accounted for: as
    records with the same content, as noise (known to be of no use), as rejected, or as
    pruned or forgotten.
    Missing entries are listed with the reason, and so are kinds of entries that this
    version does not know. Nothing is written, and the daemon may run.
    """
    if agent and not deep:
        raise UserError("--agent needs --deep.", "Run: leslied doctor --deep --agent …")
    app = get_app(ctx)
    repairs = list(_repair(app)) if fix else []
    with app.open_queries() as queries:
        report = check_health(queries)
    report.findings.extend(repairs)
    if deep:
        report = report._replace(logs=_prove(app, agent or ""))
    emit(report.to_dict, lambda: _lines(report, str(app.home)), as_json=as_json)
    if report.is_failed:
        ctx.exit(1)


def _prove(app: App, agent: str) -> ProofReport | None:
    """Compare the logs with the store; return None if there is no store."""
    if not app.paths.store_file.exists():
        return None
    with ProgressBar(app.clock) as bar:
        bar.start("Comparing logs", in_bytes=True)
        return repair.prove_logs(app, bar.update, agent)


def _repair(app: App) -> Iterator[CheckResult]:
    """Repair permissions and the archive; yield a result for each kind of repair."""
    if count := repair.repair_modes(app):
        what = f"other users can no longer access {count} files and folders"
        yield CheckResult("ok", what)
    result = repair.repair_archive(app)
    if result.repaired:
        files = format_count(result.repaired, "file")
        yield CheckResult("ok", f"{files} of the archive repaired from the logs")
    if result.left_to_daemon:
        files = format_count(result.left_to_daemon, "file")
        what = f"the daemon repairs {files} of the archive at its next scan"
        yield CheckResult("ok", what, "Check again in a minute: leslied doctor")


def _lines(report: HealthReport, home: str) -> Iterator[str]:
    for verdict, message, hint in report.findings:
        yield f"{format_mark(verdict)} {sanitize(message)}"
        if hint:
            yield f"  {sanitize(hint)}"
    if report.logs:
        yield from format_proof(report.logs, home)
