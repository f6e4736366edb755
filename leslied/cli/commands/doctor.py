"""`leslied doctor`: check logs, store, settings and machine."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from leslied import archive
from leslied.agents import load_adapters
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_bytes,
    format_path,
    json_option,
    sanitize,
)
from leslied.errors import LesliedError
from leslied.store import read_lock_info
from leslied.tail import discover

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.app import App
    from leslied.tail import Discovery

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
    results = list(_run_checks(app))
    data: dict[str, Any] = {"findings": [result._asdict() for result in results]}
    emit(data, lambda: _lines(results), as_json=as_json)
    if any(result.verdict == "fail" for result in results):
        ctx.exit(1)


def _run_checks(app: App) -> Iterator[CheckResult]:
    yield from _check_logs(app)
    yield from _check_store(app)
    yield from _check_machine(app)


def _check_logs(app: App) -> Iterator[CheckResult]:
    """Check the settings, which name the log folders, and the logs."""
    try:
        settings = app.load_settings()
    except LesliedError as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    home = str(app.home)
    unused_agents = []
    for adapter, roots in app.iter_agent_roots(settings):
        discovery = discover(adapter.name, roots)
        paths = ", ".join(format_path(str(root.path), home) for root in roots)
        if discovery.sources:
            message = f"{adapter.title}: {len(discovery.sources)} logs in {paths}"
            yield CheckResult("ok", message)
        elif not discovery.unreadable:
            unused_agents.append(adapter.title)
        yield from _check_sources(discovery)
    if len(unused_agents) == len(load_adapters()):
        yield CheckResult("warn", "no agent has written a log", "Run: leslied agents")
    elif unused_agents:
        yield CheckResult("ok", f"no logs of: {', '.join(unused_agents)}")


def _check_sources(discovery: Discovery) -> Iterator[CheckResult]:
    for path, reason in discovery.unreadable.items():
        yield CheckResult("fail", f"{path}: {reason}", "Check its permissions.")
    for source in discovery.sources:
        if not os.access(source.path, os.R_OK):
            hint = f"chmod u+r '{source.path}'"
            yield CheckResult("fail", f"{source.path}: cannot be read", hint)


def _check_store(app: App) -> Iterator[CheckResult]:
    path = app.paths.store_file
    if not path.exists():
        yield CheckResult("warn", "nothing has been read yet", "Run: leslied sync")
        return
    try:
        with app.open_reader() as reader:
            damage = reader.check_integrity()
            rejected = reader.count_rows()["rejected"]
    except LesliedError as error:
        yield CheckResult("fail", error.message, error.hint)
        return
    if damage:
        yield CheckResult(
            "fail",
            f"the store is damaged: {damage}",
            "Move it away, then run: leslied sync",
        )
    else:
        yield CheckResult(
            "ok", f"the store is undamaged, {format_bytes(path.stat().st_size)}"
        )
    if rejected:
        hint = "List them with: leslied status --rejected"
        yield CheckResult("warn", f"{rejected} entries could not be parsed", hint)
    if not os.access(path, os.W_OK):
        yield CheckResult("fail", f"{path} cannot be written", f"chmod u+w '{path}'")
    yield from _check_modes(path.parent)
    yield from _check_archive(app.paths.archive_dir)


def _check_archive(folder: Path) -> Iterator[CheckResult]:
    count = 0
    for path in archive.list_files(folder):
        count += 1
        try:
            with archive.ArchiveReader(path) as reader:
                damage = reader.find_damage()
        except archive.ArchiveError as error:
            yield CheckResult("fail", error.message, error.hint)
            continue
        if damage:
            hint = (
                "Undamaged parts remain usable. If the agent's log still exists, "
                "delete this copy of it."
            )
            yield CheckResult("fail", f"{path} is damaged: {damage[0]}", hint)
    yield CheckResult("ok", f"{count} logs in the archive")


def _check_modes(folder: Path) -> Iterator[CheckResult]:
    for path in (folder, *folder.iterdir()):
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield CheckResult(
                "fail", f"{path} is accessible to other users", f"chmod go= '{path}'"
            )


def _check_machine(app: App) -> Iterator[CheckResult]:
    is_running = "pid" in (read_lock_info(app.paths.store_file) or "")
    if is_running:
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
