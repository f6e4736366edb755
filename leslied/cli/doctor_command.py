"""`leslied doctor`: whether everything is as it should be."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from leslied import archive
from leslied.agents import load_adapters
from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import clean, emit, json_option, say_bytes, say_path
from leslied.errors import LesliedError
from leslied.store import read_lock_info
from leslied.tail import discover

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leslied.cli.desk import Desk
    from leslied.tail import Discovery

Verdict = Literal["ok", "warn", "fail"]
_RESERVE = 500_000_000
_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


class Finding(NamedTuple):
    """One thing that was looked at."""

    verdict: Verdict
    what: str
    hint: str = ""


@click.command(
    cls=Command,
    examples=[
        ("leslied doctor", "check, and be told what to do"),
        ("leslied doctor --json", "the findings for a script"),
    ],
    exit_codes=[(1, "something is broken")],
    see_also=["status", "agents", "bundle"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Check logs, store, settings and machine, and say what to do.

    The first thing to run when anything seems wrong. It changes nothing: it reads the
    whole store and archive for damage, so it may take a while.
    """
    desk = sit_down(ctx)
    found = list(_examine(desk))
    data: dict[str, Any] = {"findings": [each._asdict() for each in found]}
    emit(data, lambda: _lines(found), as_json=as_json)
    if any(each.verdict == "fail" for each in found):
        ctx.exit(1)


def _examine(desk: Desk) -> Iterator[Finding]:
    yield from _examine_logs(desk)
    yield from _examine_store(desk)
    yield from _examine_machine(desk)


def _examine_logs(desk: Desk) -> Iterator[Finding]:
    try:
        settings = desk.load_settings()
    except LesliedError as error:
        yield Finding("fail", error.message, error.hint)
        return
    home = str(desk.home)
    absent = []
    for adapter, roots in desk.agent_roots(settings):
        found = discover(adapter.name, roots)
        where = ", ".join(say_path(str(root.path), home) for root in roots)
        if found.sources:
            told = f"{adapter.title}: {len(found.sources)} logs in {where}"
            yield Finding("ok", told)
        elif not found.unreadable:
            absent.append(adapter.title)
        yield from _examine_sources(found)
    if len(absent) == len(load_adapters()):
        yield Finding("warn", "no agent has written anything", "See: leslied agents")
    elif absent:
        yield Finding("ok", f"not used here: {', '.join(absent)}")


def _examine_sources(found: Discovery) -> Iterator[Finding]:
    for path, reason in found.unreadable.items():
        yield Finding("fail", f"{path}: {reason}", "Check its permissions.")
    for source in found.sources:
        if not os.access(source.path, os.R_OK):
            hint = f"chmod u+r '{source.path}'"
            yield Finding("fail", f"{source.path}: cannot be read", hint)


def _examine_store(desk: Desk) -> Iterator[Finding]:
    path = desk.places.store_file
    if not path.exists():
        yield Finding("warn", "nothing has been read yet", "Run: leslied sync")
        return
    try:
        with desk.open_reader() as reader:
            damage = reader.check_integrity()
            rejected = reader.count_rows()["rejected"]
    except LesliedError as error:
        yield Finding("fail", error.message, error.hint)
        return
    if damage:
        yield Finding(
            "fail", f"the store is damaged: {damage}", "Move it aside and sync."
        )
    else:
        yield Finding("ok", f"the store is sound, {say_bytes(path.stat().st_size)}")
    if rejected:
        hint = "See them: leslied status --rejected"
        yield Finding("warn", f"{rejected} entries could not be understood", hint)
    if not os.access(path, os.W_OK):
        yield Finding("fail", f"{path} cannot be written", f"chmod u+w '{path}'")
    yield from _examine_modes(path.parent)
    yield from _examine_archive(desk.places.archive_dir)


def _examine_archive(folder: Path) -> Iterator[Finding]:
    count = 0
    for path in archive.list_files(folder):
        count += 1
        try:
            with archive.ArchiveReader(path) as reader:
                damage = reader.find_damage()
        except archive.ArchiveError as error:
            yield Finding("fail", error.message, error.hint)
            continue
        if damage:
            hint = "What is whole in it is used. With the log still there: remove it."
            yield Finding("fail", f"{path} is damaged: {damage[0]}", hint)
    yield Finding("ok", f"{count} logs in the archive")


def _examine_modes(folder: Path) -> Iterator[Finding]:
    open_ones = [
        path
        for path in (folder, *folder.iterdir())
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    for path in open_ones:
        yield Finding("fail", f"{path} can be read by others", f"chmod go= '{path}'")


def _examine_machine(desk: Desk) -> Iterator[Finding]:
    is_running = "pid" in (read_lock_info(desk.places.store_file) or "")
    if is_running:
        yield Finding("ok", "the daemon runs")
    else:
        yield Finding("warn", "the daemon does not run", "Start it: leslied run")
    if desk.places.pause_file.exists():
        yield Finding("warn", "leslied is paused", "Go on with: leslied unpause")
    folder = desk.places.data_dir
    near = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(near).free
    verdict: Verdict = "ok" if free > _RESERVE else "warn"
    yield Finding(verdict, f"{say_bytes(free)} free for the store")
    if sqlite3.sqlite_version_info < (3, 51, 3):
        yield Finding(
            "ok", f"SQLite {sqlite3.sqlite_version}: only leslied may open the store"
        )


def _lines(found: list[Finding]) -> Iterator[str]:
    for verdict, what, hint in found:
        mark, color = _MARKS[verdict]
        yield f"{click.style(mark, fg=color)} {clean(what)}"
        if hint:
            yield f"  {clean(hint)}"
