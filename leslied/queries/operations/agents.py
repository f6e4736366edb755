"""Supported agents, their log files on disk and their sources in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from leslied.model.codec import encode_time
from leslied.model.times import from_ns
from leslied.tail import check_freshness

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leslied.agents import AgentAdapter
    from leslied.model.source import Root
    from leslied.queries.context import QueryContext


class RootState(Struct, frozen=True):
    """A folder that an agent writes logs to."""

    path: str
    exists: bool
    is_learned: bool = False
    """Whether it was learned from a hook event."""


class AgentState(Struct, frozen=True, kw_only=True):
    """An agent, its log files on disk and its sources in the store."""

    name: str
    title: str
    found: bool
    """Whether at least one of the agent's folders exists."""
    roots: tuple[RootState, ...]
    logs: int
    """Number of log files on disk."""
    sources: int
    sessions: int
    last_seen_at: datetime | None
    newest_source_at: datetime | None
    newest_ingested_at: datetime | None
    unread: int
    """Number of log files that changed since they were read, or were never read."""
    oldest_unread_at: datetime | None
    """The oldest modification time of these files."""
    rejected: int
    """Number of entries that could not be decoded."""
    gone: int
    """Number of sources whose files do not exist any more."""
    waiting: int
    """Number of sources that wait to be read."""
    unreadable: int
    """Number of sources and folders that could not be read."""
    decoder_version: int
    decoded_sources: tuple[tuple[int, int, int], ...]
    """(version that decoded, version that was tried last, number of sources)."""

    @property
    def outdated_sources(self) -> int:
        """Number of sources that an older decoder read; they will be decoded again."""
        return sum(
            count
            for _, tried_version, count in self.decoded_sources
            if tried_version < self.decoder_version
        )

    @property
    def stale_sources(self) -> int:
        """Number of sources that an older decoder read; they cannot be decoded again.

        For example, neither log nor archive exist, or the archive is damaged.
        """
        return sum(
            count
            for version, tried_version, count in self.decoded_sources
            if version < self.decoder_version <= tried_version
        )

    @property
    def lag_seconds(self) -> float | None:
        """How far the store is behind the newest log; None without logs."""
        if not self.newest_source_at or not self.newest_ingested_at:
            return None
        lag = self.newest_source_at - self.newest_ingested_at
        return max(lag.total_seconds(), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "title": self.title,
            "found": self.found,
            "roots": [
                {"path": r.path, "exists": r.exists, "learned": r.is_learned}
                for r in self.roots
            ],
            "logs": self.logs,
            "sources": self.sources,
            "sessions": self.sessions,
            "last_seen_at": encode_time(self.last_seen_at),
            "newest_source_at": encode_time(self.newest_source_at),
            "newest_ingested_at": encode_time(self.newest_ingested_at),
            "lag_seconds": self.lag_seconds,
            "unread": self.unread,
            "oldest_unread_at": encode_time(self.oldest_unread_at),
            "rejected": self.rejected,
            "gone": self.gone,
            "waiting": self.waiting,
            "unreadable": self.unreadable,
            "decoder_version": self.decoder_version,
            "outdated_sources": self.outdated_sources,
            "stale_sources": self.stale_sources,
        }


class AgentList(NamedTuple):
    """All supported agents."""

    agents: list[AgentState]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"agents": [agent.to_dict() for agent in self.agents]}


def list_agents(context: QueryContext) -> AgentList:
    """Return every supported agent, also those never used on this machine."""
    agent_roots = context.list_agent_roots()
    has_store = context.paths.store_file.exists()
    rows = context.reader.summarize_agents() if has_store else []
    summaries = {agent["name"]: agent for agent in rows}
    agents = [
        make_agent_state(adapter, roots, summaries.get(adapter.name, {}))
        for adapter, roots in agent_roots
    ]
    return AgentList(context.redact_value(agents))


def make_agent_state(
    adapter: AgentAdapter, roots: list[Root], summary: Mapping[str, Any]
) -> AgentState:
    """Combine the agent's files with its summary in the store, which may be empty."""
    read_times, looked_ns = summary.get("read_times", ()), summary.get("looked_ns", 0)
    freshness = check_freshness(adapter.name, roots, dict(read_times), looked_ns)
    return AgentState(
        name=adapter.name,
        title=adapter.title,
        found=len(freshness.missing_roots) < len(roots),
        roots=tuple(
            RootState(
                str(root.path),
                root.path not in freshness.missing_roots,
                root.is_learned,
            )
            for root in roots
        ),
        logs=freshness.count,
        sources=summary.get("sources", 0),
        sessions=summary.get("sessions", 0),
        last_seen_at=_from_ns(summary.get("last_seen_ns")),
        newest_source_at=_from_ns(freshness.newest_ns),
        newest_ingested_at=_from_ns(summary.get("newest_ingested_ns")),
        unread=freshness.unread,
        oldest_unread_at=_from_ns(freshness.oldest_unread_ns),
        rejected=summary.get("rejected", 0),
        gone=summary.get("gone", 0),
        waiting=summary.get("waiting", 0),
        unreadable=summary.get("unreadable", 0) + len(freshness.unreadable),
        decoder_version=adapter.decoder_version,
        decoded_sources=tuple(summary.get("decoder_versions", ())),
    )


def _from_ns(value: int | None) -> datetime | None:
    return from_ns(value) if value else None
