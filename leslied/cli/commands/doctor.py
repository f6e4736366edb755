"""`leslied doctor`: check logs, store, settings and machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied import jobs
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.queries.operations.health import CheckResult, check_health

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.queries.operations.health import HealthReport

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied doctor", "check and print what to do"),
        ("leslied doctor --fix", "make leslied's files private again"),
        ("leslied doctor --json", "print the results as JSON"),
    ],
    exit_codes=[(1, "a check failed")],
    see_also=["status", "agents", "bundle"],
)
@click.option(
    "--fix",
    is_flag=True,
    help="First deny other users access to leslied's files and folders.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, fix: bool, as_json: bool) -> None:
    """Check logs, store, settings and machine, and suggest repairs.

    Run this first if leslied does not work as expected. Without --fix, nothing is
    changed. The whole store and archive are read to find damage, which may take a
    while.
    """
    app = get_app(ctx)
    repaired = jobs.repair_modes(app) if fix else 0
    with app.open_queries() as queries:
        report = check_health(queries)
    if repaired:
        what = f"other users can no longer access {repaired} files and folders"
        report.findings.append(CheckResult("ok", what))
    emit(report.to_dict, lambda: _lines(report), as_json=as_json)
    if report.is_failed:
        ctx.exit(1)


def _lines(report: HealthReport) -> Iterator[str]:
    for verdict, message, hint in report.findings:
        mark, color = _MARKS[verdict]
        yield f"{click.style(mark, fg=color)} {sanitize(message)}"
        if hint:
            yield f"  {sanitize(hint)}"
