"""Find the row of a session or subagent; its id does not leave the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.store.sql import fetch_value

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

    from leslied.model.record import SessionKey

_MAX_LOOKUPS = 500
"""For more keys than this, one query over all streams is faster."""
IS_STREAM = "agent = ? AND session_id = ? AND source = ?"
"""Condition on a row of `session`; the values are those of a session key."""
_FIRST_ENTRIES = "SELECT entry FROM placement WHERE session = s.id ORDER BY unit, id"
SELECT_UNREGISTERED = (
    "SELECT session_id FROM session s WHERE ended_us >= ? "
    "AND seen_us <= ? AND agent = ? AND source = 'main' AND has_turn_ended "
    "AND stopped_us IS NULL AND NOT is_live AND EXISTS "
    f"(SELECT 1 FROM ({_FIRST_ENTRIES} LIMIT 50) p JOIN record r ON r.entry = p.entry "
    "AND r.is_current AND r.metadata <> '' JOIN json_each(?) e "
    "ON e.value = json_extract(r.metadata, '$.entrypoint'))"
)
"""Selects the ids of sessions for `Store.list_unregistered`. The entrypoint, which says
how a session was started, is in the metadata of its first entries."""

UNIT_ENDS = (
    "WITH RECURSIVE number (unit) AS (SELECT min(unit) FROM placement "
    "WHERE session = :stream AND unit > :after UNION ALL "
    "SELECT (SELECT min(unit) FROM placement "
    "WHERE session = :stream AND unit > number.unit) FROM number "
    "WHERE unit IS NOT NULL), "
    "unit_end (unit, newest) AS (SELECT unit, (SELECT max(id) FROM placement "
    "WHERE session = :stream AND unit = number.unit) FROM number "
    "WHERE unit IS NOT NULL)"
)
"""WITH clause of the table `unit_end`: the units of a stream after the unit `:after`,
each with its last placement.

It costs two lookups for each unit, however many entries a unit has.
"""
ALL_UNITS = -1
"""Value of `:after` for all units, also the first, which is 0."""


def find_stream(db: sqlite3.Connection, key: SessionKey) -> int:
    """Return the row id of a stream; 0, which no row has, if it does not exist."""
    return int(
        fetch_value(db, f"SELECT id FROM session WHERE {IS_STREAM}", key, default=0)
    )


def list_streams(db: sqlite3.Connection, keys: Collection[SessionKey]) -> list[int]:
    """Return the row ids of the streams that exist, in any order."""
    if len(keys) <= _MAX_LOOKUPS:
        return [row_id for key in keys if (row_id := find_stream(db, key))]
    selected = set(keys)
    rows = db.execute("SELECT id, agent, session_id, source FROM session")
    return [row_id for row_id, *key in rows if tuple(key) in selected]


def from_active_subagents(session: str) -> str:
    """Return the FROM clause of the subagents `c` that still work for a session.

    `session` is the alias of the session's table in the surrounding query.
    """
    return (
        f"FROM session c WHERE c.agent = {session}.agent "
        f"AND c.session_id = {session}.session_id AND c.source <> 'main' "
        "AND c.entries > 0 AND c.stopped_us IS NULL "
        "AND NOT c.has_turn_ended AND NOT c.is_finished"
    )
