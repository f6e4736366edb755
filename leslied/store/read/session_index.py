"""All sessions at once, with the few fields that a long list needs of each.

A summary of every session takes several times as long and as much memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from leslied.model.record import MAIN
from leslied.sessions.titles import choose_title
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.filter_sql import IS_HIDDEN, compile_status
from leslied.store.read.spawn_lookup import StoredSpawnLookup
from leslied.store.read.usage_totals import UsageTotals

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from pathlib import Path

    from leslied.model.record import Usage
    from leslied.model.session import SessionSummary, Status

_GROUPS = (
    f"(SELECT agent, session_id, max(CASE WHEN source = '{MAIN}' THEN id END) AS main, "
    "min(id) AS first, max(ended_us) AS ended_us, group_concat(id) AS streams, "
    f"sum(source <> '{MAIN}' AND NOT {IS_HIDDEN}) AS subagents, "
    f"min({IS_HIDDEN}) AS is_hidden "
    "FROM session WHERE entries > 0 GROUP BY agent, session_id)"
)
_FROM_GROUPS = (
    f"FROM {_GROUPS} f JOIN session m ON m.id = ifnull(f.main, f.first) "
    "LEFT JOIN project_folder ON path = m.cwd "
    "ORDER BY ifnull(ifnull(f.ended_us, m.started_us), 0) DESC, f.agent DESC, "
    "f.session_id DESC"
)
_TOOL_CALLS = (
    "CASE WHEN f.main IS NULL THEN 0 WHEN m.originals THEN m.tool_calls "
    "ELSE m.copied_calls END"
)


class SessionIndexRow(NamedTuple):
    """One session with its subagents."""

    agent: str
    session_id: str
    title: str
    project: str
    """The project's path; empty if the working directory is unknown."""
    model: str
    status: Status
    started_us: int | None
    ended_us: int | None
    units: int
    """Number of units, without rewound ones."""
    tool_calls: int
    """Number of tool calls, without subagents."""
    tokens: int
    """All tokens, including those of subagents."""
    subagents: int
    """Number of subagents that are not hidden."""
    is_hidden: bool


class SessionIndexQueries:
    """Read-only queries over all sessions."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def list_sessions(self, stop_cutoff_us: int) -> list[SessionIndexRow]:
        """List all sessions, also hidden ones, last active first.

        `db` has the function `count_current`.
        """
        usage = UsageTotals(self._db).get_by_stream()
        rows = self._db.execute(
            "SELECT f.agent, f.session_id, m.title, m.first_prompt, m.description, "
            f"ifnull(project, m.cwd), m.model, {compile_status(stop_cutoff_us)}, "
            "m.started_us, f.ended_us, count_current(m.forks, m.units), "
            f"{_TOOL_CALLS}, f.streams, f.subagents, f.is_hidden {_FROM_GROUPS}"
        )
        return [_make_row(row, usage) for row in rows]

    def get_spawn_lookup(self, main: SessionSummary) -> StoredSpawnLookup:
        """Return the facts that decide which subagent spawned which."""
        return StoredSpawnLookup(self._db, main)


def _make_row(row: tuple[Any, ...], usage: Mapping[int, Usage]) -> SessionIndexRow:
    (
        agent,
        session_id,
        title,
        first_prompt,
        description,
        *fields,
        tool_calls,
        streams,
        subagents,
        is_hidden,
    ) = row
    return SessionIndexRow(
        agent,
        session_id,
        choose_title(title=title, first_prompt=first_prompt, description=description),
        *fields,
        tool_calls,
        _sum_tokens(streams, usage),
        subagents,
        bool(is_hidden),
    )


def _sum_tokens(streams: str, usage: Mapping[int, Usage]) -> int:
    """Return the tokens of all streams of a session, whose ids are joined by commas."""
    totals = (usage.get(int(stream)) for stream in streams.split(","))
    return sum(total.total_tokens for total in totals if total)
