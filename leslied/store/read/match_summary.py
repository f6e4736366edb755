"""Load many matching records at once, without their texts, to group and count them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.model.record import MAIN, SessionKey
from leslied.model.times import from_us
from leslied.store.read.filter_sql import IS_ERROR, make_project_sql

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from datetime import datetime

CALLED_TOOL = (
    "ifnull((SELECT c.tool_name FROM record c WHERE c.type = 'tool_use' AND "
    "c.tool_call_id = r.tool_call_id AND c.tool_call_id <> ''), r.tool_name)"
)
"""SQL for the tool of a call `r`; for a result, the tool of the call it answers."""
_SELECT_SUMMARIES = (
    "SELECT s.agent, s.session_id, s.source, r.entry_id, r.type, r.role, "
    f"{CALLED_TOOL} AS tool_name, r.created_us, r.utc_offset, "
    # SQLite evaluates both sides of AND in a column, but not in a condition.
    f"CASE WHEN {IS_ERROR} THEN 1 ELSE 0 END AS is_error, "
    f"{make_project_sql('m')} AS project "
    "FROM json_each(?) AS pair "
    "CROSS JOIN record r ON r.id = json_extract(pair.value, '$[0]') "
    "JOIN placement p ON p.id = json_extract(pair.value, '$[1]') "
    "JOIN session s ON s.id = p.session "
    # A subagent has its session's project, unless that session's log is missing.
    "JOIN session m ON m.id = ifnull((SELECT x.id FROM session x WHERE "
    "x.agent = s.agent AND x.session_id = s.session_id "
    f"AND x.source = '{MAIN}' AND x.entries > 0), s.id) "
    "ORDER BY pair.key"
)


class MatchSummary(Struct, frozen=True, kw_only=True):
    """A matching record without its text."""

    key: SessionKey
    entry_id: str
    type: str
    role: str
    tool_name: str
    """Tool of the call; for a result, the tool of the call that it answers."""
    at: datetime | None
    is_error: bool
    project: str
    """Folder of the session's project, or its working directory."""


def load_summaries(
    db: sqlite3.Connection, pairs: Iterable[tuple[int, int]]
) -> list[MatchSummary]:
    """Return the summaries of these pairs of a record and a placement, in order."""
    rows = db.execute(_SELECT_SUMMARIES, (json.dumps(list(pairs)),))
    return [
        MatchSummary(
            key=SessionKey(agent, session_id, source),
            entry_id=entry_id.hex(),
            type=record_type,
            role=role,
            tool_name=tool_name,
            at=from_us(created_us, utc_offset) if created_us is not None else None,
            is_error=bool(is_error),
            project=project,
        )
        for (
            agent,
            session_id,
            source,
            entry_id,
            record_type,
            role,
            tool_name,
            created_us,
            utc_offset,
            is_error,
            project,
        ) in rows
    ]
