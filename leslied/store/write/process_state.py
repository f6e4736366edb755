"""What agents' processes do: which sessions are live, and which wait for the user."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, NamedTuple

from leslied.model.record import MAIN
from leslied.sessions.status import Waiting, decide_waiting
from leslied.sessions.tools import find_question

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from leslied.model.session import Activity, WaitingFor

SET_WAITING = "UPDATE session SET waiting_for = ?, waiting_us = ? WHERE id = ?"
_LAST_CALL = (
    "(SELECT CASE r.type WHEN 'tool_use' THEN r.tool_name END FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "WHERE p.session = s.id ORDER BY p.unit DESC, p.id DESC LIMIT 1)"
)


class _ProcessRow(NamedTuple):
    """A session that waits, or may wait."""

    id: int
    session_id: str
    waiting_for: WaitingFor | Literal[""]
    waiting_us: int
    last_entry_us: int
    is_stopped: int
    last_call: str | None
    """Tool of the last entry of a live session, if that is a call."""


def find_live_changes(
    db: sqlite3.Connection, agent: str, session_ids: Iterable[str]
) -> list[tuple[int]]:
    """Return the row ids of the agent's sessions that start or cease to be live."""
    # Without `CROSS`, SQLite would read all sessions of the agent.
    return db.execute(
        "SELECT id FROM session WHERE agent = ?1 AND is_live "
        "AND session_id NOT IN (SELECT value FROM json_each(?2)) UNION ALL "
        "SELECT s.id FROM json_each(?2) CROSS JOIN session s ON s.agent = ?1 "
        "AND s.session_id = value WHERE NOT s.is_live",
        (agent, json.dumps(sorted(session_ids))),
    ).fetchall()


def find_waiting_changes(
    db: sqlite3.Connection, agent: str, activities: Mapping[str, Activity]
) -> list[tuple[str, int, int]]:
    """Return the arguments of SET_WAITING for each session of the agent that changes.

    `activities` are what processes and hooks report, by session id.
    """
    rows = db.execute(
        "SELECT id, session_id, waiting_for, waiting_us, ifnull(ended_us, 0), "
        "stopped_us IS NOT NULL, CASE WHEN is_live AND NOT has_turn_ended "
        f"THEN {_LAST_CALL} END FROM session s WHERE source = '{MAIN}' AND id IN ("
        "SELECT id FROM session WHERE agent = ?1 AND is_live UNION "
        "SELECT id FROM session WHERE agent = ?1 AND waiting_for <> '' UNION "
        "SELECT n.id FROM json_each(?2) CROSS JOIN session n ON n.agent = ?1 "
        "AND n.session_id = value)",
        (agent, json.dumps(sorted(activities))),
    ).fetchall()
    changes: list[tuple[str, int, int]] = []
    for row in map(_ProcessRow._make, rows):
        stored = Waiting(row.waiting_for or None, row.waiting_us)
        waiting = decide_waiting(
            stored,
            row.last_entry_us,
            activities.get(row.session_id),
            find_question(row.last_call or ""),
            is_stopped=bool(row.is_stopped),
        )
        if waiting != stored:
            changes.append((waiting.kind or "", waiting.since_us, row.id))
    return changes
