"""`leslied doctor`: check logs, store, settings and machine."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option, sanitize
from leslied.errors import LesliedError
from leslied.queries.health import check_archive, check_store, discover_logs
from leslied.queries.status import load_daemon_state
from leslied.rendering.humanize import format_bytes, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.app import App
    from leslied.queries.context import QueryContext
    from leslied.queries.health import DiscoveredLogs

Verdict = Literal["ok", "warn", "fail"]
_MIN_FREE_BYTES = 500_000_000
_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


class CheckResult(NamedTuple):
    """Result of one check; the field names are those of `--json`."""

    verdict: Verdict
    what: str
    hint: str = ""


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied doctor", "check and print what to do"),
        ("leslied doctor --json", "print the results as JSON"),
    ],
    exit_codes=[(1, "a check failed")],
    see_also=["status", "agents", "bundle"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Check logs, store, settings and machine, and suggest repairs.

    Run this first if leslied does not work as expected. Nothing is changed. The whole
    store and archive are read to find damage, which may take a while.
    """
    app = get_app(ctx)
    with app.open_queries() as queries:
        results = list(_run_checks(app, queries))
    data: dict[str, Any] = {"findings": [result._asdict() for result in results]}
    emit(data, lambda: _lines(results), as_json=as_json)
    if any(result.verdict == "fail" for result in results):
        ctx.exit(1)


def _run_checks(app: App, queries: QueryContext) -> Iterator[CheckResult]:
    yield from _check_logs(queries, str(app.home))
    yield from _check_store(app, queries)
    yield from _check_machine(app, queries)


def _check_logs(queries: QueryContext, home: str) -> Iterator[CheckResult]:
    """Check the settings, which name the log folders, and the logs."""
    try:
        agents = list(discover_logs(queries))
    except LesliedError as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    unused_agents = []
    for logs in agents:
        if logs.log_count:
            paths = ", ".join(format_path(root, home) for root in logs.roots)
            yield CheckResult("ok", f"{logs.title}: {logs.log_count} logs in {paths}")
        elif not logs.unreadable:
            unused_agents.append(logs.title)
        yield from _check_sources(logs)
    if len(unused_agents) == len(agents):
        yield CheckResult("warn", "no agent has written a log", "Run: leslied agents")
    elif unused_agents:
        yield CheckResult("ok", f"no logs of: {', '.join(unused_agents)}")


def _check_sources(logs: DiscoveredLogs) -> Iterator[CheckResult]:
    for path, reason in logs.unreadable.items():
        yield CheckResult("fail", f"{path}: {reason}", "Check its permissions.")
    for path in logs.forbidden:
        yield CheckResult("fail", f"{path}: cannot be read", f"chmod u+r '{path}'")


def _check_store(app: App, queries: QueryContext) -> Iterator[CheckResult]:
    path = app.paths.store_file
    if not path.exists():
        yield CheckResult("warn", "nothing has been read yet", "Run: leslied sync")
        return
    try:
        health = check_store(queries)
    except LesliedError as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    if health.damage:
        yield CheckResult(
            "fail",
            f"the store is damaged: {health.damage}",
            "Move it away, then run: leslied sync",
        )
    else:
        size = format_bytes(path.stat().st_size)
        yield CheckResult("ok", f"the store is undamaged, {size}")
    if health.rejected:
        hint = "List them with: leslied status --rejected"
        yield CheckResult(
            "warn", f"{health.rejected} entries could not be parsed", hint
        )
    if not os.access(path, os.W_OK):
        yield CheckResult("fail", f"{path} cannot be written", f"chmod u+w '{path}'")
    yield from _check_modes(path.parent)
    yield from _check_archive(queries)


def _check_archive(queries: QueryContext) -> Iterator[CheckResult]:
    count = 0
    for file in check_archive(queries):
        count += 1
        if file.error:
            yield CheckResult("fail", file.error.message, file.error.hint)
        elif file.damage:
            hint = (
                "Undamaged parts remain usable. If the agent's log still exists, "
                "delete this copy of it."
            )
            yield CheckResult("fail", f"{file.path} is damaged: {file.damage}", hint)
    yield CheckResult("ok", f"{count} logs in the archive")


def _check_modes(folder: Path) -> Iterator[CheckResult]:
    for path in (folder, *folder.iterdir()):
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield CheckResult(
                "fail", f"{path} is accessible to other users", f"chmod go= '{path}'"
            )


def _check_machine(app: App, queries: QueryContext) -> Iterator[CheckResult]:
    if load_daemon_state(queries).running:
        yield CheckResult("ok", "the daemon is running")
    else:
        yield CheckResult(
            "warn", "the daemon is not running", "Start it with: leslied run"
        )
    if app.paths.pause_file.exists():
        yield CheckResult("warn", "leslied is paused", "Resume with: leslied unpause")
    folder = app.paths.data_dir
    existing_folder = next(p for p in (folder, *folder.parents) if p.exists())
    free_bytes = shutil.disk_usage(existing_folder).free
    verdict: Verdict = "ok" if free_bytes > _MIN_FREE_BYTES else "warn"
    yield CheckResult(verdict, f"{format_bytes(free_bytes)} free for the store")
    # Older versions can damage a database if two programs write to it (WAL reset bug).
    if sqlite3.sqlite_version_info < (3, 51, 3):
        yield CheckResult(
            "ok",
            f"SQLite {sqlite3.sqlite_version}: "
            "do not open the store with other programs",
        )


def _lines(results: list[CheckResult]) -> Iterator[str]:
    for verdict, message, hint in results:
        mark, color = _MARKS[verdict]
        yield f"{click.style(mark, fg=color)} {sanitize(message)}"
        if hint:
            yield f"  {sanitize(hint)}"
