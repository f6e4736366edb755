"""Per-agent summaries and the time of the last scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.model.record import MAIN
from leslied.model.source import WAITING
from leslied.store.read.filter_sql import IS_GROUP_HIDDEN
from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3


class _AgentSessions(NamedTuple):
    """The sessions of an agent: their number, and when the last one ended."""

    total: int = 0
    ended_us: int = 0


_NO_SESSIONS = _AgentSessions()


def summarize_agents(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return one summary per agent.

    A summary counts the agent's sources, sessions, source errors and rejected entries,
    and its sources by decoder version. It lists the sources with the modification time
    of each when it was read, and has the times of the agent's last write, last activity
    and last scan.
    """
    sources = db.execute(
        "SELECT agent, count(*), max(mtime_ns), sum(is_gone) FROM source GROUP BY agent"
    )
    sessions = _summarize_sessions(db)
    return [
        {
            "name": agent,
            "sources": count - gone,
            "gone": gone,
            "unreadable": _count_unread(db, agent, is_waiting=False),
            "waiting": _count_unread(db, agent, is_waiting=True),
            "sessions": sessions.get(agent, _NO_SESSIONS).total,
            "newest_ingested_ns": newest_ns,
            "last_seen_ns": 1000 * sessions.get(agent, _NO_SESSIONS).ended_us,
            "rejected": _count_rejected(db, agent),
            "read_times": _list_read_times(db, agent),
            "looked_ns": find_last_scan_ns(db, agent),
            "decoder_versions": _count_decoder_versions(db, agent),
        }
        for agent, count, newest_ns, gone in sources.fetchall()
    ]


def _summarize_sessions(db: sqlite3.Connection) -> dict[str, _AgentSessions]:
    """Return the number and the last activity of sessions, by agent.

    Hidden sessions are not counted.
    """
    is_session = f"entries > 0 AND source = '{MAIN}'"
    rows = db.execute(
        f"SELECT agent, sum({is_session}), ifnull(max(ended_us), 0) "
        "FROM session GROUP BY agent"
    ).fetchall()
    # Few sessions are hidden. Reading all rows through an index would take longer.
    hidden_counts = dict(
        db.execute(
            "SELECT agent, count(*) FROM session h NOT INDEXED "
            f"WHERE {is_session} AND {IS_GROUP_HIDDEN} GROUP BY agent"
        ).fetchall()
    )
    return {
        agent: _AgentSessions(total - hidden_counts.get(agent, 0), ended_us)
        for agent, total, ended_us in rows
    }


def record_scan(db: sqlite3.Connection, agent: str, at_us: int) -> None:
    """Save the time of the last scan over all of an agent's sources."""
    db.execute(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)", (_make_scan_key(agent), str(at_us))
    )


def find_last_scan_ns(db: sqlite3.Connection, agent: str) -> int:
    """Return the time of the agent's last scan in nanoseconds; 0 if there was none."""
    query = "SELECT value FROM meta WHERE key = ?"
    return 1000 * int(fetch_value(db, query, (_make_scan_key(agent),), default=0))


def _make_scan_key(agent: str) -> str:
    return f"looked:{agent}"


def _count_unread(db: sqlite3.Connection, agent: str, *, is_waiting: bool) -> int:
    """Count the sources that wait to be read, or those that could not be read."""
    operator = "LIKE" if is_waiting else "NOT LIKE"
    query = (
        "SELECT count(*) FROM source WHERE agent = ? AND trouble <> '' "
        f"AND NOT is_gone AND trouble {operator} ?"
    )
    return int(fetch_value(db, query, (agent, WAITING + "%")))


def _count_rejected(db: sqlite3.Connection, agent: str) -> int:
    query = (
        "SELECT coalesce(sum(j.times), 0) FROM rejected j "
        "JOIN source s ON s.id = j.source WHERE s.agent = ?"
    )
    return int(fetch_value(db, query, (agent,)))


def _count_decoder_versions(
    db: sqlite3.Connection, agent: str
) -> list[tuple[int, int, int]]:
    """Return (version that decoded sources, version last tried, number of sources)."""
    # A source with version 0 was never read.
    return db.execute(
        "SELECT decoder_version, tried_version, count(*) FROM source "
        "WHERE agent = ? AND tried_version > 0 GROUP BY tried_version, decoder_version",
        (agent,),
    ).fetchall()


def _list_read_times(
    db: sqlite3.Connection, agent: str
) -> list[tuple[bytes, int | None]]:
    """List (path, mtime that was read) of sources that exist, last modified first.

    The time is None if the source was never read, or has to be read again.
    """
    query = (
        "SELECT path, mtime_ns FROM source WHERE agent = ? AND is_gone = 0 "
        "ORDER BY mtime_ns DESC"
    )
    return db.execute(query, (agent,)).fetchall()
