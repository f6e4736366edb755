"""State of each agent: its log files on disk and its sources in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.times import from_ns
from leslied.tail import check_freshness

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leslied.agents import AgentAdapter
    from leslied.model.source import Root
    from leslied.store import StoreReader


def list_agents(
    agent_roots: Iterable[tuple[AgentAdapter, list[Root]]], reader: StoreReader | None
) -> list[dict[str, Any]]:
    """Return the JSON form of these agents, also of those never used here.

    `reader` is None if there is no store yet.
    """
    summaries = (
        {agent["name"]: agent for agent in reader.summarize_agents()} if reader else {}
    )
    return [
        _agent_to_dict(adapter, roots, summaries.get(adapter.name, {}))
        for adapter, roots in agent_roots
    ]


def _agent_to_dict(
    adapter: AgentAdapter, roots: list[Root], summary: dict[str, Any]
) -> dict[str, Any]:
    paths, looked_ns = summary.get("paths", ()), summary.get("looked_ns", 0)
    freshness = check_freshness(adapter.name, roots, paths, looked_ns)
    newest_source_at = _from_ns(freshness.newest_ns)
    newest_ingested_at = _from_ns(summary.get("newest_ingested_ns"))
    lag_seconds = None
    if newest_source_at and newest_ingested_at:
        lag_seconds = max((newest_source_at - newest_ingested_at).total_seconds(), 0.0)
    return {
        "name": adapter.name,
        "title": adapter.title,
        "found": len(freshness.missing_roots) < len(roots),
        "roots": [
            {"path": str(root.path), "exists": root.path not in freshness.missing_roots}
            for root in roots
        ],
        "logs": freshness.count,
        "sources": summary.get("sources", 0),
        "sessions": summary.get("sessions", 0),
        "last_seen_at": encode_time(_from_ns(summary.get("last_seen_ns"))),
        "newest_source_at": encode_time(newest_source_at),
        "newest_ingested_at": encode_time(newest_ingested_at),
        "lag_seconds": lag_seconds,
        "rejected": summary.get("rejected", 0),
        "gone": summary.get("gone", 0),
        "waiting": summary.get("waiting", 0),
        "unreadable": summary.get("unreadable", 0) + len(freshness.unreadable),
        **_count_outdated(adapter.decoder_version, summary),
    }


def _count_outdated(version: int, summary: dict[str, Any]) -> dict[str, Any]:
    """Return how many sources an older decoder read, and can be decoded again or not.

    A source that exists neither as a log nor in the archive cannot be decoded again.
    """
    due = impossible = 0
    for decoded_by, tried_by, count in summary.get("decoder_versions", ()):
        due += count if tried_by < version else 0
        impossible += count if decoded_by < version <= tried_by else 0
    return {
        "decoder_version": version,
        "outdated_sources": due,
        "stale_sources": impossible,
    }


def _from_ns(value: int | None) -> datetime | None:
    return from_ns(value) if value else None
