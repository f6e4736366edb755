"""`leslied status`: state of the daemon, the store and each agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from leslied import __version__
from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_ago,
    format_bytes,
    format_count,
    format_number,
    format_path,
    format_source_errors,
    format_table,
    format_time,
    json_option,
    parse_time,
    sanitize,
)
from leslied.model.codec import encode_time
from leslied.queries.agents import list_agents
from leslied.store import read_lock_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from leslied.app import App
    from leslied.config import Settings
    from leslied.model.failure import Failure
    from leslied.store import StoreReader

_MAX_REJECTED = 50


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied status", "show daemon, store and agents"),
        ("leslied status --rejected", "list rejected entries too"),
    ],
    see_also=["agents", "doctor", "service status"],
)
@click.option(
    "--rejected", is_flag=True, help="Also list entries that could not be decoded."
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, rejected: bool, as_json: bool) -> None:
    """Show the state of the daemon, the store and each agent's logs.

    LAG is how far the store is behind the newest log. Agents that were never
    used on this machine are left out; see `leslied agents`.
    """
    app = get_app(ctx)
    settings = app.load_settings()
    with app.open_reader() as reader:
        data = _collect_status(app, settings, reader)
        errors = reader.list_source_errors()
        failures = reader.list_failures()
        rejections = reader.list_rejected(_MAX_REJECTED) if rejected else []
    if rejected:
        data["rejected"] = rejections
    data["failures"] = [_failure_to_dict(failure) for failure in failures]
    warnings = format_source_errors(errors)
    warnings += [_format_failure(failure, app.clock.now()) for failure in failures]
    if data["store"]["bytes"] > settings.store.warn_bytes:
        size = format_bytes(data["store"]["bytes"])
        warnings.append(
            f"The store has grown to {size} (store.warn_bytes). See: leslied disk"
        )
    emit(data, lambda: _lines(data, app), as_json=as_json, warnings=warnings)


def _failure_to_dict(failure: Failure) -> dict[str, Any]:
    return {**failure._asdict(), "retry_at": encode_time(failure.retry_at)}


def _format_failure(failure: Failure, now: datetime) -> str:
    seconds = max(0, round((failure.retry_at - now).total_seconds()))
    retry = (
        f"next attempt in {seconds} s" if seconds else "next attempt at the next run"
    )
    return (
        f"{failure.scope} {failure.name}: {failure.reason} "
        f"(failed {format_count(failure.attempts, 'time')}; {retry})"
    )


def _collect_status(
    app: App, settings: Settings, reader: StoreReader
) -> dict[str, Any]:
    counts = reader.count_rows()
    path = reader.path
    files = [path, path.with_name(path.name + "-wal")]
    size = sum(file.stat().st_size for file in files if file.exists())
    return {
        "daemon": _read_daemon_state(path) | {"paused": app.paths.pause_file.exists()},
        "agents": list_agents(app.iter_agent_roots(settings), reader),
        "store": {"path": str(path), "bytes": size, **counts},
    }


def _read_daemon_state(store_file: Path) -> dict[str, Any]:
    """Return the state of the daemon from the store's lock."""
    text = read_lock_info(store_file)
    try:
        lock_info = json.loads(text or "{}")
    except ValueError:
        lock_info = {}
    return {
        "running": "pid" in lock_info,
        "pid": lock_info.get("pid"),
        "since": lock_info.get("since"),
        "version": __version__,
    }


def _lines(data: dict[str, Any], app: App) -> Iterator[str]:
    store, daemon = data["store"], data["daemon"]
    state = "not running; start it with: leslied run"
    if daemon["running"]:
        since = format_time(parse_time(daemon["since"]))
        state = f"running since {since}, pid {daemon['pid']}"
    if daemon["paused"]:
        state = f"paused (continue with: leslied unpause); {state}"
    yield f"daemon   {state}"
    path = format_path(store["path"], str(app.home))
    yield f"store    {sanitize(path)}, {format_bytes(store['bytes'])}"
    yield (
        f"         {format_number(store['records'])} records, "
        f"{format_count(store['sessions'], 'session')}, "
        f"{format_count(store['subagents'], 'subagent')}, "
        f"{format_number(store['noise'])} noise, {store['rejected']} rejected"
    )
    yield ""
    yield from _agent_lines(data["agents"], app.clock.now())
    yield from _outdated_lines(data["agents"])
    for entry in data.get("rejected", []):
        position = f"{entry['path']} at byte {entry['offset']}, {entry['length']} bytes"
        yield sanitize(f"{position}: {entry['reason']}")


def _outdated_lines(agents: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each agent with logs that an older decoder read."""
    for agent in agents:
        if agent["outdated_sources"]:
            count = format_count(agent["outdated_sources"], "log")
            yield f"{agent['name']}: {count} still to be decoded again by this version"
        if agent["stale_sources"]:
            count = format_count(agent["stale_sources"], "log")
            yield (
                f"{agent['name']}: {count} not decoded again, because the log is gone "
                "and was not archived, or its project is excluded"
            )


def _agent_lines(agents: list[dict[str, Any]], now: datetime) -> Iterable[str]:
    headers = (
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
            format_ago(parse_time(agent["newest_source_at"]), now),
            format_ago(parse_time(agent["newest_ingested_at"]), now),
            "-" if agent["lag_seconds"] is None else f"{agent['lag_seconds']:.0f} s",
            str(agent["rejected"]),
        )
        for agent in agents
        if agent["found"] or agent["sessions"]
    ]
    if not rows:
        return ["No agent has written logs on this machine yet. See: leslied agents"]
    return format_table(
        headers,
        rows,
        stretch=0,
        right_aligned=("LOGS", "SESSIONS", "LAG", "REJECTED"),
        droppable=("NEWEST READ", "LOGS", "NEWEST LOG"),
    )
