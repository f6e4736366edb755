"""The columns of a session that lists show, and their conversion to a summary."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from leslied.model.record import SessionKey
from leslied.model.session import SessionSummary
from leslied.model.times import from_us
from leslied.sessions.rewinds import list_rewound
from leslied.sessions.titles import choose_title
from leslied.store.read.filter_sql import IS_HIDDEN
from leslied.store.streams import from_active_subagents

if TYPE_CHECKING:
    from leslied.model.record import Usage
    from leslied.model.session import WaitingFor


class SummaryRow(NamedTuple):
    """A row of SELECT_SUMMARIES; a field is a column unless `_SQL` has it."""

    id: int
    agent: str
    session_id: str
    source: str
    thread_id: str
    title: str
    first_prompt: str
    cwd: str
    model: str
    started_us: int | None
    ended_us: int | None
    units: int
    forks: str
    tool_calls: int
    has_turn_ended: int
    stopped_us: int | None
    spawn_call_id: str
    parent_agent: str
    agent_type: str
    description: str
    seen_us: int
    folder: bytes
    is_live: int
    waiting_for: WaitingFor | Literal[""]
    project: str | None
    worktree: str | None
    subagent_active_us: int | None
    is_hidden: int


_SQL = {
    "tool_calls": "CASE WHEN originals THEN tool_calls ELSE copied_calls END",
    "subagent_active_us": "CASE source WHEN 'main' THEN "
    f"(SELECT max(ifnull(c.ended_us, 0)) {from_active_subagents('session')}) END",
    "is_hidden": IS_HIDDEN,
}
SELECT_SUMMARIES = (
    f"SELECT {', '.join(_SQL.get(name, name) for name in SummaryRow._fields)} "
    "FROM session LEFT JOIN project_folder ON path = cwd WHERE entries > 0"
)
"""Selects sessions and subagents that have entries; conditions can be appended."""


def make_summary(row: SummaryRow, usage: Usage) -> SessionSummary:
    """Build a summary from a session's row and the tokens of its stream."""
    return SessionSummary(
        key=SessionKey(row.agent, row.session_id, row.source),
        thread_id=row.thread_id,
        title=choose_title(
            title=row.title, first_prompt=row.first_prompt, description=row.description
        ),
        cwd=row.cwd,
        project=row.project or row.cwd,
        worktree=row.worktree or "",
        is_project_known=row.project is not None,
        model=row.model,
        started_at=from_us(row.started_us) if row.started_us is not None else None,
        ended_at=from_us(row.ended_us) if row.ended_us is not None else None,
        units=row.units,
        rewound=list_rewound(row.forks, row.units),
        tool_calls=row.tool_calls,
        has_turn_ended=bool(row.has_turn_ended),
        is_stopped=row.stopped_us is not None,
        spawn_call_id=row.spawn_call_id,
        parent_agent=row.parent_agent,
        agent_type=row.agent_type,
        description=row.description,
        seen_at=from_us(row.seen_us) if row.seen_us else None,
        folder=os.fsdecode(row.folder),
        is_live=bool(row.is_live),
        waiting_for=row.waiting_for or None,
        subagent_active_at=(
            from_us(row.subagent_active_us)
            if row.subagent_active_us is not None
            else None
        ),
        is_hidden=bool(row.is_hidden),
        usage=usage,
    )
