"""The list of sessions, each with its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from leslied.annotations import SessionName
from leslied.model.field_tables import session_to_dict
from leslied.queries.annotations import Marks, load_annotations, make_marks
from leslied.queries.sessions import list_sessions, list_sessions_by_id
from leslied.sessions.status import compute_status, compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.query import Selection
    from leslied.model.session import SessionSummary, Status
    from leslied.queries.context import QueryContext


class ListedSession(Struct, frozen=True):
    """A session or subagent with its status."""

    summary: SessionSummary
    status: Status
    marks: Marks = Marks()

    @property
    def id(self) -> str:
        """The id of the session, or of the subagent."""
        return self.summary.subagent_id or self.summary.key.session_id

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; a subagent has its own id and that of its parent."""
        summary = self.summary
        data = session_to_dict(self)
        data["unpriced_messages"] = summary.cost.unpriced
        data |= self.marks.to_dict()
        if summary.is_subagent:
            data |= {"id": summary.subagent_id, "parent": summary.key.session_id}
        return data


class SessionList(Struct, frozen=True):
    """Sessions in the selected order."""

    sessions: tuple[ListedSession, ...]
    has_more: bool
    """Whether the limit left out sessions."""
    hidden: int
    """Number of sessions left out because nobody said anything in them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        sessions = [session.to_dict() for session in self.sessions]
        return {"sessions": sessions, "hidden_sessions": self.hidden}


def load_session_list(
    context: QueryContext,
    selection: Selection,
    *,
    with_subagents: bool = False,
    with_costs: bool = False,
) -> SessionList:
    """Return the selected sessions; raise UserError for an unknown agent."""
    limit = selection.limit
    selection = replace(
        selection,
        stop_cutoff_us=compute_stop_cutoff_us(context.now),
        # One more session than is returned shows whether there are more.
        limit=limit and limit + 1,
    )
    summaries = list_sessions(
        context.reader,
        selection,
        with_subagents=with_subagents,
        with_costs=with_costs,
    )
    sessions = make_listed_sessions(context, summaries[:limit])
    hidden = 0
    if not selection.with_hidden:
        hidden = context.reader.count_hidden_sessions(selection)
    return SessionList(sessions, len(summaries) > len(sessions), hidden)


def select_waiting(context: QueryContext) -> tuple[SessionName, ...]:
    """Return agent and id of the sessions that wait for the user, without stopped ones.

    A waiting session has asked for a permission, an answer or the next prompt.
    """
    reader, now = context.reader, context.now
    keys = (key for key, _ in reader.change_feed.list_waiting())
    summaries = (reader.find_session(key) for key in keys)
    return tuple(
        SessionName(summary.key.agent, summary.key.session_id)
        for summary in summaries
        if summary and compute_status(summary, now) != "stopped"
    )


def load_sessions_by_id(context: QueryContext, ids: Iterable[str]) -> SessionList:
    """Return the sessions that have these ids, with their costs, also hidden ones."""
    summaries = list_sessions_by_id(context.reader, ids)
    sessions = make_listed_sessions(context, summaries)
    return SessionList(sessions, has_more=False, hidden=0)


def make_listed_sessions(
    context: QueryContext, summaries: Iterable[SessionSummary]
) -> tuple[ListedSession, ...]:
    """Return the sessions without secrets, each with its status and marks."""
    now, annotations = context.now, load_annotations(context)
    return tuple(
        ListedSession(
            context.redact_summary(summary),
            compute_status(summary, now),
            make_marks(context, annotations, summary),
        )
        for summary in summaries
    )
