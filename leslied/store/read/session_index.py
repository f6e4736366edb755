"""All sessions at once, with the few fields that a long list needs of each.

Full summaries of all sessions would take several times as long and as much memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from leslied.model.record import MAIN
from leslied.sessions.titles import choose_title
from leslied.store.connection import translate_sqlite_errors
from leslied.store.read.filter_sql import IS_HIDDEN, compile_status
from leslied.store.read.usage_totals import UsageTotals

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from pathlib import Path

    from leslied.model.record import Usage
    from leslied.model.session import Status, WaitingFor

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
_SQL = {
    "project": "ifnull(project, m.cwd)",
    "units": "count_current(m.forks, m.units)",
    "tool_calls": "CASE WHEN f.main IS NULL THEN 0 WHEN m.originals "
    "THEN m.tool_calls ELSE m.copied_calls END",
}
_GROUP_COLUMNS = ("ended_us", "streams", "subagents", "is_hidden")
"""Fields that are about a session together with its subagents."""


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
    waiting_for: WaitingFor | None
    """What it waits for; a stopped session waits for nothing."""


class _IndexRow(NamedTuple):
    """A selected row of one session; `_make_column` returns the SQL of each field."""

    agent: str
    session_id: str
    title: str
    first_prompt: str
    description: str
    project: str
    model: str
    status: Status
    started_us: int | None
    ended_us: int | None
    units: int
    tool_calls: int
    streams: str
    """Ids of the session's streams, joined by commas."""
    subagents: int
    is_hidden: int
    waiting_for: WaitingFor | Literal[""]


class SessionIndexQueries:
    """Read-only queries over all sessions."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self.path = path

    @translate_sqlite_errors
    def list_sessions(self, stop_cutoff_us: int) -> list[SessionIndexRow]:
        """List all sessions, hidden ones included, the most recently active first.

        The connection must have the SQL function `count_current`.
        """
        usage = UsageTotals(self._db).get_by_stream()
        columns = ", ".join(
            _make_column(name, stop_cutoff_us) for name in _IndexRow._fields
        )
        rows = self._db.execute(f"SELECT {columns} {_FROM_GROUPS}")
        return [_make_row(_IndexRow(*row), usage) for row in rows]


def _make_column(name: str, stop_cutoff_us: int) -> str:
    """Return the SQL of a field, from the group `f` or its main session `m`."""
    if name == "status":
        return compile_status(stop_cutoff_us)
    table = "f" if name in _GROUP_COLUMNS else "m"
    return _SQL.get(name, f"{table}.{name}")


def _make_row(row: _IndexRow, usage: Mapping[int, Usage]) -> SessionIndexRow:
    return SessionIndexRow(
        agent=row.agent,
        session_id=row.session_id,
        title=choose_title(
            title=row.title, first_prompt=row.first_prompt, description=row.description
        ),
        project=row.project,
        model=row.model,
        status=row.status,
        started_us=row.started_us,
        ended_us=row.ended_us,
        units=row.units,
        tool_calls=row.tool_calls,
        tokens=_sum_tokens(row.streams, usage),
        subagents=row.subagents,
        is_hidden=bool(row.is_hidden),
        waiting_for=None if row.status == "stopped" else row.waiting_for or None,
    )


def _sum_tokens(streams: str, usage: Mapping[int, Usage]) -> int:
    """Return the tokens of all streams of a session, whose ids are joined by commas."""
    totals = (usage.get(int(stream)) for stream in streams.split(","))
    return sum(total.total_tokens for total in totals if total)
