"""The columns of a session that lists show, and their conversion to a summary."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from leslied.model.record import SessionKey
from leslied.model.session import SessionSummary
from leslied.model.times import from_us
from leslied.sessions.titles import choose_title

if TYPE_CHECKING:
    from leslied.model.record import Usage

SUMMARY_COLUMNS = (
    "id, agent, session_id, source, thread_id, title, first_prompt, cwd, model, "
    "started_us, ended_us, units, CASE WHEN originals "
    "THEN tool_calls ELSE copied_calls END, "
    "has_turn_ended, stopped_us, spawn_call_id, parent_agent, agent_type, "
    "description, seen_us, folder, is_live"
)


def unpack_summary(row: tuple[Any, ...], usage: Usage) -> SessionSummary:
    """Build a summary from a row of `SUMMARY_COLUMNS` and the stream's tokens."""
    return SessionSummary(
        row=row[0],
        key=SessionKey(*row[1:4]),
        thread_id=row[4],
        title=choose_title(title=row[5], first_prompt=row[6], description=row[18]),
        cwd=row[7],
        model=row[8],
        started_at=from_us(row[9]) if row[9] is not None else None,
        ended_at=from_us(row[10]) if row[10] is not None else None,
        units=row[11],
        tool_calls=row[12],
        has_turn_ended=bool(row[13]),
        is_stopped=row[14] is not None,
        spawn_call_id=row[15],
        parent_agent=row[16],
        agent_type=row[17],
        description=row[18],
        seen_at=from_us(row[19]) if row[19] else None,
        folder=os.fsdecode(row[20]),
        is_live=bool(row[21]),
        usage=usage,
    )
