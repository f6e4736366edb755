"""`leslied status`: what is read, how far, and what could not be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from leslied import __version__
from leslied.cli.agents_view import gather_agents
from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import (
    clean,
    emit,
    format_troubles,
    json_option,
    read_time,
    say_ago,
    say_bytes,
    say_count,
    say_number,
    say_path,
    say_time,
    table,
)
from leslied.model.codec import encode_time
from leslied.store import read_lock_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from leslied.cli.desk import Desk
    from leslied.config import Settings
    from leslied.model.failure import Failure
    from leslied.store import StoreReader

_MOST_REJECTED = 50


@click.command(
    cls=Command,
    examples=[
        ("leslied status", "how far every agent is read"),
        ("leslied status --rejected", "and which entries made no sense"),
    ],
    see_also=["agents", "doctor", "service status"],
)
@click.option("--rejected", is_flag=True, help="List the entries that made no sense.")
@json_option
@click.pass_context
def command(ctx: click.Context, *, rejected: bool, as_json: bool) -> None:
    """Show what is read of each agent, how far behind, and what could not be.

    Also whether the daemon runs, and how large the store is. Agents that were never
    used here are left out; `leslied agents` has them.
    """
    desk = sit_down(ctx)
    settings = desk.load_settings()
    with desk.open_reader() as reader:
        data = _gather(desk, settings, reader)
        troubles = reader.list_source_errors()
        failures = reader.failures()
        listed = reader.list_rejected(_MOST_REJECTED) if rejected else []
    if rejected:
        data["rejected"] = listed
    data["failures"] = [_failure_to_dict(failure) for failure in failures]
    warnings = format_troubles(troubles)
    warnings += [_format_failure(failure, desk.clock.now()) for failure in failures]
    if data["store"]["bytes"] > settings.store.warn_bytes:
        size = say_bytes(data["store"]["bytes"])
        warnings.append(
            f"The store has grown to {size} (store.warn_bytes). See: leslied disk"
        )
    emit(data, lambda: _lines(data, desk), as_json=as_json, warnings=warnings)


def _failure_to_dict(failure: Failure) -> dict[str, Any]:
    return {**failure._asdict(), "retry_at": encode_time(failure.retry_at)}


def _format_failure(failure: Failure, now: datetime) -> str:
    seconds = max(0, round((failure.retry_at - now).total_seconds()))
    retry = f"next attempt in {seconds} s" if seconds else "next attempt when it runs"
    return (
        f"{failure.scope} {failure.name}: {failure.reason} "
        f"(failed {say_count(failure.attempts, 'time')}; {retry})"
    )


def _gather(desk: Desk, settings: Settings, reader: StoreReader) -> dict[str, Any]:
    counts = reader.count_rows()
    path = reader.path
    files = [path, path.with_name(path.name + "-wal")]
    size = sum(file.stat().st_size for file in files if file.exists())
    return {
        "daemon": _daemon(path) | {"paused": desk.places.pause_file.exists()},
        "agents": gather_agents(desk, settings, reader),
        "store": {"path": str(path), "bytes": size, **counts},
    }


def _daemon(store: Path) -> dict[str, Any]:
    """Who holds the right to write, if it is a daemon."""
    words = read_lock_info(store)
    try:
        told = json.loads(words or "{}")
    except ValueError:
        told = {}
    return {
        "running": "pid" in told,
        "pid": told.get("pid"),
        "since": told.get("since"),
        "version": __version__,
    }


def _lines(data: dict[str, Any], desk: Desk) -> Iterator[str]:
    store, daemon = data["store"], data["daemon"]
    state = "not running; start it: leslied run"
    if daemon["running"]:
        state = (
            f"running since {say_time(read_time(daemon['since']))}, pid {daemon['pid']}"
        )
    if daemon["paused"]:
        state = f"paused (go on: leslied unpause); {state}"
    yield f"daemon   {state}"
    path = say_path(store["path"], str(desk.home))
    yield f"store    {clean(path)}, {say_bytes(store['bytes'])}"
    yield (
        f"         {say_number(store['records'])} records, "
        f"{say_count(store['sessions'], 'session')}, "
        f"{say_count(store['subagents'], 'subagent')}, "
        f"{say_number(store['noise'])} noise, {store['rejected']} rejected"
    )
    yield ""
    yield from _agent_lines(data["agents"], desk.clock.now())
    for each in data.get("rejected", []):
        where = f"{each['path']} at byte {each['offset']}, {each['length']} bytes"
        yield clean(f"{where}: {each['reason']}")


def _agent_lines(agents: list[dict[str, Any]], now: datetime) -> Iterable[str]:
    names = (
        "AGENT",
        "LOGS",
        "SESSIONS",
        "NEWEST LOG",
        "NEWEST READ",
        "LAG",
        "REJECTED",
    )
    rows = [
        (
            agent["name"],
            str(agent["sources"]),
            str(agent["sessions"]),
            say_ago(read_time(agent["newest_source_at"]), now),
            say_ago(read_time(agent["newest_ingested_at"]), now),
            "-" if agent["lag_seconds"] is None else f"{agent['lag_seconds']:.0f} s",
            str(agent["rejected"]),
        )
        for agent in agents
        if agent["found"] or agent["sessions"]
    ]
    if not rows:
        return ["No agent has written anything here yet. See: leslied agents"]
    right, least = "LOGS SESSIONS LAG REJECTED", ("NEWEST READ", "LOGS", "NEWEST LOG")
    return table(names, rows, stretch=0, right=right, least=least)
