"""A compact list of all sessions, and the cost of each, for pages with a long list.

Texts that repeat are sent once: a session names its agent, project and model by their
positions in lists.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leslied.annotations import SessionName
from leslied.model.stats import Cost
from leslied.prices import load_prices
from leslied.queries.annotations import Marks, load_annotations, make_session_marks
from leslied.queries.usage.totals import UsageStats
from leslied.sessions.status import compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.queries.context import QueryContext
    from leslied.store.read.session_index import SessionIndexRow

FIELDS = (
    *("id", "agent", "title", "project", "model", "status", "started_ms", "ended_ms"),
    *("units", "tool_calls", "tokens", "subagents", "hidden", "waiting_for", "marks"),
)
"""Names of the values of each session, in their order."""
_NO_MARKS = Marks()


class SessionIndex(Struct, frozen=True):
    """All sessions, also hidden ones, last active first."""

    rows: tuple[SessionIndexRow, ...]
    marks: tuple[Marks, ...]
    """The user's marks on each of the sessions."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        agents, projects, models = _Positions(), _Positions(), _Positions()
        sessions = [
            [
                row.session_id,
                agents[row.agent],
                row.title,
                projects[row.project],
                models[row.model],
                row.status,
                _to_ms(row.started_us),
                _to_ms(row.ended_us),
                row.units,
                row.tool_calls,
                row.tokens,
                row.subagents,
                int(row.is_hidden),
                row.waiting_for,
                None if marks == _NO_MARKS else marks.to_dict(),
            ]
            for row, marks in zip(self.rows, self.marks, strict=True)
        ]
        return {
            "fields": FIELDS,
            "agents": list(agents),
            "projects": list(projects),
            "models": list(models),
            "sessions": sessions,
        }


class SessionCosts(Struct, frozen=True):
    """What sessions with known prices cost, including their subagents."""

    costs: dict[tuple[str, str], float]
    """Dollars by agent and session id."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: dollars by agent, then by id."""
        agents: dict[str, dict[str, float]] = {}
        for (agent, session_id), usd in self.costs.items():
            agents.setdefault(agent, {})[session_id] = usd
        return {"costs": agents}


class _Positions(dict[str, int]):
    """Texts in the order of their first use, each with its position."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def load_session_index(context: QueryContext) -> SessionIndex:
    """Return all sessions, without secrets."""
    cutoff_us = compute_stop_cutoff_us(context.now)
    rows = context.reader.session_index.list_sessions(cutoff_us)
    annotations = load_annotations(context)
    marks = (
        make_session_marks(
            context, annotations, SessionName(row.agent, row.session_id), row.ended_us
        )
        for row in rows
    )
    redacted_rows = (_redact_row(row, context.redact) for row in rows)
    return SessionIndex(tuple(redacted_rows), tuple(marks))


def _redact_row(row: SessionIndexRow, redact: Callable[[str], str]) -> SessionIndexRow:
    return row._replace(
        session_id=redact(row.session_id),
        title=redact(row.title),
        project=redact(row.project),
        model=redact(row.model),
    )


def load_session_costs(context: QueryContext) -> SessionCosts:
    """Return the cost of every session that has one."""
    stats = UsageStats(context.reader.usage, load_prices())
    totals: dict[tuple[str, str], Cost] = defaultdict(Cost)
    for key, cost in stats.sum_session_costs(()).items():
        session = key.agent, context.redact(key.session_id)
        totals[session] = totals[session].plus(cost)
    return SessionCosts(
        {session: cost.usd for session, cost in totals.items() if cost.usd is not None}
    )


def _to_ms(time_us: int | None) -> int | None:
    return None if time_us is None else time_us // 1000
