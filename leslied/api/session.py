"""A session as scripts see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leslied.api.entries import Entries
from leslied.api.types import make_unit_view
from leslied.model.session import find_waiting_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.api.types import UnitView
    from leslied.model.record import Usage
    from leslied.model.session import SessionSummary, Status, WaitingFor
    from leslied.queries.scripts import ScriptQueries


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """One session of an agent, or one of its subagents."""

    id: str
    """Id of the session, or of the subagent."""
    parent: str | None
    """Id of the session that a subagent belongs to; None for a session."""
    agent: str
    project: str | None
    title: str | None
    description: str | None
    """Task of a subagent."""
    status: Status
    waiting_for: WaitingFor | None
    """What the agent waits for: `permission`, `question` or `prompt`; else None."""
    started_at: datetime | None
    ended_at: datetime | None
    model: str | None
    unit_count: int
    """Number of units that the user did not take back."""
    tool_calls: int
    usage: Usage
    """Tokens, including those of subagents; a message that forks share counts once."""
    cost_usd: float | None
    """Cost at list prices of the messages with a known price; None without any."""
    thread_id: str | None
    transcripts_dir: str | None
    _summary: SessionSummary = field(repr=False, compare=False)
    _queries: ScriptQueries = field(repr=False, compare=False)

    @property
    def units(self) -> Iterator[UnitView]:
        """The units in order, loaded one at a time."""
        return map(make_unit_view, self._queries.iter_units(self._summary))

    @property
    def entries(self) -> Entries:
        """The entries; those of a session include the entries of its subagents."""
        record_filter = self._queries.make_session_filter(self._summary)
        return Entries(self._queries, record_filter)

    @property
    def subagents(self) -> list[SessionView]:
        """The subagents of the session, at any depth."""
        subagents = self._queries.list_subagents(self._summary)
        return [make_session_view(child, self._queries) for child in subagents]


def make_session_view(summary: SessionSummary, queries: ScriptQueries) -> SessionView:
    """Return a session or subagent as scripts see it."""
    session = queries.describe(summary)
    # This summary has no secrets if the store was opened with `redact`.
    summary = session.summary
    return SessionView(
        id=session.id,
        parent=summary.key.session_id if summary.is_subagent else None,
        agent=summary.key.agent,
        project=summary.project or None,
        title=summary.title or None,
        description=summary.description or None,
        status=session.status,
        waiting_for=find_waiting_for(session),
        started_at=summary.started_at,
        ended_at=summary.ended_at,
        model=summary.model or None,
        unit_count=summary.current_units,
        tool_calls=summary.tool_calls,
        usage=summary.usage,
        cost_usd=summary.cost.usd,
        thread_id=summary.thread_id or None,
        transcripts_dir=summary.transcripts_dir or None,
        _summary=summary,
        _queries=queries,
    )
