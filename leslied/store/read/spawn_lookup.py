"""Facts in the store about which unit of a session spawned each subagent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leslied.model.record import SessionKey
from leslied.model.times import to_us
from leslied.sessions.subagents import MainCall
from leslied.store.read.record_query import IS_VISIBLE
from leslied.store.sql import fetch_value
from leslied.store.streams import find_stream

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.model.session import SessionSummary

_FROM_VISIBLE = (
    "FROM placement p JOIN session s ON s.id = p.session "
    "JOIN record r ON r.entry = p.entry AND r.is_current = 1 "
    f"WHERE {IS_VISIBLE}"
)


class StoredSpawnLookup:
    """Implementation of `sessions.subagents.SpawnLookup` with queries."""

    def __init__(self, db: sqlite3.Connection, main: SessionSummary) -> None:
        self._db = db
        self._main = find_stream(db, main.key)

    def find_call_units(self, call_id: str) -> dict[SessionKey, int]:
        """Return the unit of the last call with this id, by stream."""
        rows = self._db.execute(
            f"SELECT s.agent, s.session_id, s.source, p.unit {_FROM_VISIBLE} "
            "AND r.tool_call_id = ? AND r.type = 'tool_use' ORDER BY p.id",
            (call_id,),
        )
        return {SessionKey(*key): unit for *key, unit in rows}

    def find_prompt(self, child: SessionSummary) -> str:
        """Return the text of the subagent's first user message, or ""."""
        query = (
            f"SELECT r.content {_FROM_VISIBLE} AND p.session = ? AND p.unit = 0 "
            "AND r.type = 'user_message' ORDER BY p.id LIMIT 1"
        )
        values = (find_stream(self._db, child.key),)
        return str(fetch_value(self._db, query, values, default=""))

    def iter_main_calls(self) -> Iterator[MainCall]:
        """Yield the main session's calls, in order."""
        # `+r.type` prevents the planner from reading the calls of all sessions.
        rows = self._db.execute(
            f"SELECT p.unit, r.tool_call_id, r.tool_input {_FROM_VISIBLE} "
            "AND p.session = ? AND +r.type = 'tool_use' ORDER BY p.unit, p.id",
            (self._main,),
        )
        return (MainCall(*row) for row in rows)

    def find_unit_at(self, time: datetime | None) -> int:
        """Return the main session's last unit with an entry at or before this time.

        Return its first unit if there is none, and 0 if the session has no entry.
        """
        units = f"SELECT p.unit {_FROM_VISIBLE} AND p.session = ?"
        query = (
            f"SELECT coalesce(({units} AND +r.created_us <= ? "
            f"ORDER BY p.unit DESC LIMIT 1), ({units} ORDER BY p.unit LIMIT 1), 0)"
        )
        values = (self._main, to_us(time) if time else None, self._main)
        return int(fetch_value(self._db, query, values))
