"""Find which sessions start or cease to be live, or to wait for the user."""

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

    AgentSession = tuple[str, str]
    """Agent and id of a session."""

SET_WAITING = "UPDATE session SET waiting_for = ?, waiting_us = ? WHERE id = ?"
_LAST_CALL = (
    "(SELECT CASE r.type WHEN 'tool_use' THEN r.tool_name END FROM placement p "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    "WHERE p.session = s.id ORDER BY p.unit DESC, p.id DESC LIMIT 1)"
)
_LISTED = (
    "listed AS (SELECT json_extract(value, '$[0]') AS agent, "
    "json_extract(value, '$[1]') AS session_id FROM json_each(?1))"
)
# Without `CROSS`, SQLite would read all sessions.
_LISTED_SESSIONS = (
    "listed l CROSS JOIN session s ON s.agent = l.agent AND s.session_id = l.session_id"
)


class _ProcessRow(NamedTuple):
    """A session that waits, or may wait."""

    id: int
    agent: str
    session_id: str
    waiting_for: WaitingFor | Literal[""]
    waiting_us: int
    last_entry_us: int
    is_stopped: int
    last_call: str | None
    """Tool of the last entry of a live session, if that is a call."""


def find_live_changes(
    db: sqlite3.Connection, sessions: Iterable[AgentSession]
) -> list[tuple[int]]:
    """Return the ids of the rows to change so that exactly `sessions` are live."""
    return db.execute(
        f"WITH {_LISTED} SELECT id FROM session WHERE is_live "
        "AND (agent, session_id) NOT IN (SELECT agent, session_id FROM listed) "
        f"UNION ALL SELECT s.id FROM {_LISTED_SESSIONS} WHERE NOT s.is_live",
        (json.dumps(sorted(sessions)),),
    ).fetchall()


def find_waiting_changes(
    db: sqlite3.Connection, activities: Mapping[AgentSession, Activity]
) -> list[tuple[str, int, int]]:
    """Return the arguments of SET_WAITING for each session that changes.

    `activities` has the reports of processes and hooks, by agent and session id.
    """
    rows = db.execute(
        f"WITH {_LISTED} SELECT id, agent, session_id, waiting_for, waiting_us, "
        "ifnull(ended_us, 0), stopped_us IS NOT NULL, "
        f"CASE WHEN is_live AND NOT has_turn_ended THEN {_LAST_CALL} END "
        f"FROM session s WHERE source = '{MAIN}' AND id IN ("
        "SELECT id FROM session WHERE is_live UNION "
        "SELECT id FROM session WHERE waiting_for <> '' UNION "
        f"SELECT s.id FROM {_LISTED_SESSIONS})",
        (json.dumps(sorted(activities)),),
    ).fetchall()
    changes: list[tuple[str, int, int]] = []
    for row in map(_ProcessRow._make, rows):
        stored = Waiting(row.waiting_for or None, row.waiting_us)
        waiting = decide_waiting(
            stored,
            row.last_entry_us,
            activities.get((row.agent, row.session_id)),
            find_question(row.last_call or ""),
            is_stopped=bool(row.is_stopped),
        )
        if waiting != stored:
            changes.append((waiting.kind or "", waiting.since_us, row.id))
    return changes
