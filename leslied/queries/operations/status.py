"""State of the daemon, the store and each agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from leslied import __version__
from leslied.model.codec import encode_time
from leslied.queries.operations.agents import AgentState, list_agents
from leslied.sessions.status import compute_status
from leslied.store import read_lock_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.model.failure import Failure
    from leslied.model.session import WaitingFor
    from leslied.model.source import SourceProblem
    from leslied.queries.context import QueryContext

_MAX_REJECTED = 50


class DaemonState(Struct, frozen=True, kw_only=True):
    """State of the daemon, from the store's lock."""

    running: bool
    pid: int | None
    since: str | None
    """When the daemon started, as ISO text."""
    version: str
    paused: bool


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
    """Numbers of records, sessions, subagents, noise and rejected entries."""
    rejected: list[dict[str, Any]] | None
    """Positions of rejected entries; None if they were not requested."""
    failures: list[Failure]
    """Work that failed unexpectedly and is tried again later."""
    source_errors: list[SourceProblem]
    """The sources that were not read."""
    waiting: list[WaitingSession]
    """Sessions whose agent waits for the user."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without the errors of sources."""
        data: dict[str, Any] = {
            "daemon": structs.asdict(self.daemon),
            "agents": [agent.to_dict() for agent in self.agents],
            "store": {"path": self.path, "bytes": self.bytes, **self.counts},
        }
        data["waiting"] = [structs.asdict(session) for session in self.waiting]
        if self.rejected is not None:
            data["rejected"] = self.rejected
        data["failures"] = [
            {**failure._asdict(), "retry_at": encode_time(failure.retry_at)}
            for failure in self.failures
        ]
        return data


def load_status(context: QueryContext, *, with_rejected: bool = False) -> StatusReport:
    """Return the state of the daemon, the store and each agent."""
    reader = context.reader
    path = reader.path
    files = [path, path.with_name(path.name + "-wal")]
    rejected = reader.list_rejected(_MAX_REJECTED) if with_rejected else None
    return StatusReport(
        daemon=load_daemon_state(context),
        agents=list_agents(context).agents,
        path=str(path),
        bytes=sum(file.stat().st_size for file in files if file.exists()),
        counts=reader.count_rows(),
        rejected=context.redact_value(rejected),
        failures=context.redact_value(reader.list_failures()),
        source_errors=context.redact_value(reader.list_source_errors()),
        waiting=context.redact_value(list(_iter_waiting(context))),
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
    """Return the state of the daemon, from the lock of the store."""
    text = read_lock_info(context.paths.store_file)
    try:
        lock_info = json.loads(text or "{}")
    except ValueError:
        lock_info = {}
    return DaemonState(
        running="pid" in lock_info,
        pid=lock_info.get("pid"),
        since=lock_info.get("since"),
        version=__version__,
        paused=context.paths.pause_file.exists(),
    )
