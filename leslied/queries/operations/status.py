"""State of the daemon, the store and each agent."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, structs

from leslied import __version__
from leslied.model.codec import encode_time
from leslied.queries.operations.agents import AgentState, list_agents
from leslied.queries.operations.unknown_kinds import list_unknown_kinds
from leslied.rendering.humanize import format_ago, format_count
from leslied.sessions.status import compute_status
from leslied.store import read_lock_info

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.model.failure import Failure
    from leslied.model.session import WaitingFor
    from leslied.model.source import SourceProblem
    from leslied.model.unknown_kind import UnknownKind
    from leslied.queries.context import QueryContext

_MAX_REJECTED = 50
_MAX_SCAN_AGE = timedelta(minutes=2)
"""The daemon scans every 30 seconds; if the last scan is older, the daemon is stuck."""
_MTIME_TOLERANCE = timedelta(seconds=2)
"""A file's mtime may be this much earlier than the moment of its change."""
ReadState = Literal["up-to-date", "reading", "behind"]
"""How far an agent's logs were read. `up-to-date`: completely. `reading`: up to the
daemon's last scan, or it has not finished its first one. `behind`: not even that far.
"""


class DaemonState(Struct, frozen=True, kw_only=True):
    """State of the daemon, from the store's lock."""

    running: bool
    pid: int | None
    since: str | None
    """When the daemon started, as ISO text."""
    version: str
    paused: bool
    scanned_at: str | None = None
    """When the last complete scan of all logs started, as ISO text."""
    watch_problem: str | None = None
    """Why there are no file events for some logs, so that changes are seen late."""
    watch_hint: str | None = None
    """What the user can do about it."""


class WaitingSession(Struct, frozen=True, kw_only=True):
    """A session whose agent waits for the user."""

    id: str
    agent: str
    title: str
    waiting_for: WaitingFor


class StatusReport(Struct, frozen=True, kw_only=True):
    """State of the daemon, the store and each agent."""

    daemon: DaemonState
    agents: list[AgentState]
    path: str
    """Path of the store."""
    bytes: int
    counts: dict[str, int]
    """Numbers of records, sessions, subagents, noise, rejected and unknown entries."""
    rejected: list[dict[str, Any]] | None
    """Positions of rejected entries; None if they were not requested."""
    failures: list[Failure]
    """Work that failed unexpectedly and is tried again later."""
    source_errors: list[SourceProblem]
    """The sources that were not read."""
    waiting: list[WaitingSession]
    """Sessions whose agent waits for the user."""
    unknown_kinds: list[UnknownKind]
    """Entries that no decoder knows."""
    now: datetime
    """Time of the report."""

    def judge_agent(self, agent: AgentState) -> ReadState | None:
        """Return how far the agent's logs were read; None if it has none."""
        return judge_agent(agent, self.daemon, self.now)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the errors of sources."""
        data: dict[str, Any] = {
            "daemon": structs.asdict(self.daemon),
            "agents": [
                agent.to_dict() | {"state": self.judge_agent(agent)}
                for agent in self.agents
            ],
            "store": {"path": self.path, "bytes": self.bytes, **self.counts},
        }
        data["waiting"] = [structs.asdict(session) for session in self.waiting]
        data["unknown_kinds"] = [kind.to_dict() for kind in self.unknown_kinds]
        if self.rejected is not None:
            data["rejected"] = self.rejected
        data["failures"] = [
            {**failure._asdict(), "retry_at": encode_time(failure.retry_at)}
            for failure in self.failures
        ]
        return data


def judge_agent(
    agent: AgentState, daemon: DaemonState, now: datetime
) -> ReadState | None:
    """Return how far the agent's logs were read; None if it has none.

    A change is read at once, or by the next scan if its file event was lost. So a
    change that is older than the last scan should have been read.
    """
    if agent.newest_source_at is None:
        return None
    if agent.oldest_unread_at is None:
        return "up-to-date"
    if not daemon.running or daemon.paused:
        return "behind"
    if daemon.scanned_at is None:
        return "reading"
    scanned_at = datetime.fromisoformat(daemon.scanned_at)
    is_recent = now - scanned_at < _MAX_SCAN_AGE
    is_new = agent.oldest_unread_at >= scanned_at - _MTIME_TOLERANCE
    return "reading" if is_recent and is_new else "behind"


def describe_agents_behind(
    agents: Iterable[AgentState], daemon: DaemonState, now: datetime
) -> Iterator[str]:
    """Yield a description of each agent with changes that should have been read."""
    for agent in agents:
        if judge_agent(agent, daemon, now) == "behind":
            newest = format_ago(agent.newest_source_at, now)
            read = format_ago(agent.newest_ingested_at, now)
            count = format_count(agent.unread, "log")
            yield (
                f"{agent.name} is behind: newest log change {newest}, newest that was "
                f"read {read}, {count} with unread changes"
            )


def load_status(context: QueryContext, *, with_rejected: bool = False) -> StatusReport:
    """Return the state of the daemon, the store and each agent."""
    reader = context.reader
    path = reader.path
    files = [path, path.with_name(path.name + "-wal")]
    rejected = reader.list_rejected(_MAX_REJECTED) if with_rejected else None
    return StatusReport(
        daemon=context.redact_value(load_daemon_state(context)),
        agents=list_agents(context).agents,
        path=str(path),
        bytes=sum(file.stat().st_size for file in files if file.exists()),
        counts={**reader.count_rows(), "unknown": reader.unknown.count()},
        rejected=context.redact_value(rejected),
        failures=context.redact_value(reader.list_failures()),
        source_errors=context.redact_value(reader.list_source_problems()),
        waiting=context.redact_value(list(_iter_waiting(context))),
        unknown_kinds=context.redact_value(list_unknown_kinds(context)),
        now=context.now,
    )


def _iter_waiting(context: QueryContext) -> Iterator[WaitingSession]:
    """Yield the sessions that wait for the user and have not stopped."""
    for key, _ in context.reader.change_feed.list_waiting():
        summary = context.reader.find_session(key)
        if summary is None or compute_status(summary, context.now) == "stopped":
            continue
        if summary.waiting_for:
            yield WaitingSession(
                id=key.session_id,
                agent=key.agent,
                title=summary.title,
                waiting_for=summary.waiting_for,
            )


def is_daemon_running(context: QueryContext) -> bool:
    """Return whether the daemon, or another writer, holds the store's lock."""
    return read_lock_info(context.paths.store_file) is not None


def load_daemon_state(context: QueryContext) -> DaemonState:
    """Return the state of the daemon, from the lock of the store, not redacted."""
    text = read_lock_info(context.paths.store_file)
    try:
        lock_info = json.loads(text or "{}")
    except ValueError:
        lock_info = {}
    problem = lock_info.get("watch_problem", {})
    return DaemonState(
        running="pid" in lock_info,
        pid=lock_info.get("pid"),
        since=lock_info.get("since"),
        version=__version__,
        paused=context.paths.pause_file.exists(),
        scanned_at=lock_info.get("scanned_at"),
        watch_problem=problem.get("reason"),
        watch_hint=problem.get("hint"),
    )
