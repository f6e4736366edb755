"""`leslied status`: state of the daemon, the store and each agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.formats import format_unknown_kinds
from leslied.cli.render.output import (
    emit,
    format_source_errors,
    format_table,
    format_time,
    json_option,
    parse_time,
    sanitize,
)
from leslied.hooks import learned_roots
from leslied.queries.operations.status import describe_agents_behind, load_status
from leslied.rendering.humanize import (
    format_ago,
    format_bytes,
    format_count,
    format_number,
    format_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from leslied.app import App
    from leslied.model.failure import Failure
    from leslied.queries.operations.agents import AgentState
    from leslied.queries.operations.status import (
        DaemonState,
        ReadState,
        StatusReport,
        WaitingSession,
    )

_MAX_KINDS = 3
"""Maximum number of unknown kinds that are named for each version of an agent."""
_STATES: dict[ReadState | None, str] = {
    "up-to-date": "up to date",
    "reading": "reading",
    "behind": "behind",
    None: "-",
}


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

    The column STATE says whether all changes of an agent's logs were read: `up to
    date`; `reading`, if the daemon is about to read the rest; or `behind`, with a
    warning. The exit code is 0 in each case. This command checks the 2,000 most
    recently changed logs and those that were never read; the daemon's scans check all
    logs. Agents that were never used on this machine are left out; see `leslied
    agents`. The column SESSIONS counts the sessions that `leslied list` shows.
    """
    app = get_app(ctx)
    settings = app.load_settings()
    with app.open_queries() as queries:
        status = load_status(queries, with_rejected=rejected)
    now = app.clock.now()
    warnings = list(_list_watch_warnings(status.daemon))
    warnings += _list_behind_warnings(status)
    warnings += format_source_errors(status.source_errors)
    warnings += [_format_failure(failure, now) for failure in status.failures]
    if status.bytes > settings.store.warn_bytes:
        size = format_bytes(status.bytes)
        warnings.append(
            f"The store has grown to {size} (store.warn_bytes). See: leslied disk"
        )
    emit(
        status.to_dict, lambda: _lines(status, app), as_json=as_json, warnings=warnings
    )


def _list_watch_warnings(daemon: DaemonState) -> Iterator[str]:
    """Yield a warning, with a remedy, if the daemon lacks file events."""
    if daemon.watch_problem:
        yield f"{daemon.watch_problem}. {daemon.watch_hint}"


def _list_behind_warnings(status: StatusReport) -> Iterator[str]:
    """Yield a sentence for each agent with changes that should have been read."""
    hint = "Run: leslied doctor"
    if not status.daemon.running:
        hint = "Run: leslied sync"
    if status.daemon.paused:
        hint = "leslied is paused. Run: leslied unpause"
    for reason in describe_agents_behind(status.agents, status.daemon, status.now):
        yield f"{reason}. {hint}"


def _format_failure(failure: Failure, now: datetime) -> str:
    seconds = max(0, round((failure.retry_at - now).total_seconds()))
    retry = (
        f"next attempt in {seconds} s" if seconds else "next attempt at the next run"
    )
    return (
        f"{failure.scope} {failure.name}: {failure.reason} "
        f"(failed {format_count(failure.attempts, 'time')}; {retry})"
    )


def _lines(status: StatusReport, app: App) -> Iterator[str]:
    yield f"daemon   {_format_daemon(status.daemon)}"
    path, counts = format_path(status.path, str(app.home)), status.counts
    yield f"store    {sanitize(path)}, {format_bytes(status.bytes)}"
    yield (
        f"         {format_number(counts['records'])} records, "
        f"{format_count(counts['sessions'], 'session')}{_format_hidden(counts)}, "
        f"{format_count(counts['subagents'], 'subagent')}, "
        f"{format_number(counts['noise'])} noise, {counts['rejected']} rejected"
    )
    yield ""
    yield from _agent_lines(status)
    yield from _waiting_lines(status.waiting)
    yield from format_unknown_kinds(status.unknown_kinds, _MAX_KINDS)
    yield from _outdated_lines(status.agents)
    yield from _learned_lines(status.agents, app)
    for entry in status.rejected or ():
        position = f"{entry['path']} at byte {entry['offset']}, {entry['length']} bytes"
        yield sanitize(f"{position}: {entry['reason']}")


def _waiting_lines(sessions: Iterable[WaitingSession]) -> Iterator[str]:
    """Yield a line for each session whose agent waits for the user."""
    for session in sessions:
        title = " ".join(session.title.split()) or "no title"
        needed = "answer" if session.waiting_for == "question" else session.waiting_for
        yield sanitize(f"{session.id} waits for your {needed}: {title}")


def _format_hidden(counts: Mapping[str, int]) -> str:
    """Format the number of sessions that are not counted; empty if there are none."""
    hidden = counts["hidden_sessions"]
    return f" (and {hidden} hidden without a prompt)" if hidden else ""


def _format_daemon(daemon: DaemonState) -> str:
    state = "not running; start it with: leslied run"
    if daemon.running:
        since = format_time(parse_time(daemon.since))
        state = f"running since {since}, pid {daemon.pid}"
    if daemon.paused:
        return f"paused (continue with: leslied unpause); {state}"
    return state


def _learned_lines(agents: list[AgentState], app: App) -> Iterator[str]:
    """Yield a line for each folder that was learned from a hook event."""
    home = str(app.home)
    file = format_path(str(app.paths.data_dir / learned_roots.FILE), home)
    for agent in agents:
        for root in agent.roots:
            if root.is_learned:
                path = format_path(root.path, home)
                yield sanitize(
                    f"{agent.name}: also reads {path}, which a hook named; "
                    f"to forget it, edit {file}"
                )


def _outdated_lines(agents: list[AgentState]) -> Iterator[str]:
    """Yield a line for each agent with logs that an older decoder read."""
    for agent in agents:
        if agent.outdated_sources:
            count = format_count(agent.outdated_sources, "log")
            yield f"{agent.name}: {count} still to be decoded again by this version"
        if agent.stale_sources:
            count = format_count(agent.stale_sources, "log")
            yield (
                f"{agent.name}: {count} not decoded again, because the log is gone "
                "and was not archived, or its project is excluded"
            )


def _agent_lines(status: StatusReport) -> Iterable[str]:
    headers = (
        "AGENT",
        "LOGS",
        "SESSIONS",
        "NEWEST LOG",
        "NEWEST READ",
        "STATE",
        "REJECTED",
    )
    rows = [
        (
            agent.name,
            str(agent.sources),
            str(agent.sessions),
            format_ago(agent.newest_source_at, status.now),
            format_ago(agent.newest_ingested_at, status.now),
            _STATES[status.judge_agent(agent)],
            str(agent.rejected),
        )
        for agent in status.agents
        if agent.found or agent.sessions
    ]
    if not rows:
        return ["No agent has written logs on this machine yet. See: leslied agents"]
    return format_table(
        headers,
        rows,
        flexible="AGENT",
        right_aligned=("LOGS", "SESSIONS", "REJECTED"),
        droppable=("NEWEST READ", "LOGS", "NEWEST LOG"),
    )
