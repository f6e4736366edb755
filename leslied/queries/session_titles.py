"""Find sessions by words in their title, for a list from which one is opened."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leslied.model.codec import encode_time
from leslied.queries.search_query import sanitize_text
from leslied.queries.sessions import load_session_summary
from leslied.queries.units import format_resume_command

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.queries.context import QueryContext

_MAX_WORDS = 10


class TitledSession(Struct, frozen=True, kw_only=True):
    """A session that was found by its title."""

    agent: str
    session_id: str
    title: str
    project: str
    ended_at: datetime | None
    resume_command: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "agent": self.agent,
            "session_id": self.session_id,
            "title": self.title,
            "project": self.project or None,
            "ended_at": encode_time(self.ended_at) if self.ended_at else None,
            "resume_command": self.resume_command or None,
        }


class TitledSessions(Struct, frozen=True):
    """The sessions that were found, last active first."""

    sessions: tuple[TitledSession, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"sessions": [session.to_dict() for session in self.sessions]}


def find_sessions_by_title(
    context: QueryContext, text: str, limit: int
) -> TitledSessions:
    """Return up to `limit` sessions that match all words, last active first.

    A word matches if the title or the name of the folder contains it, or if the
    session's id begins with it. If the text has no words, every session matches.
    """
    words = sanitize_text(text).split()[:_MAX_WORDS]
    groups = context.reader.titles.find(words, limit)
    return TitledSessions(
        tuple(_load(context, group.agent, group.session_id) for group in groups)
    )


def _load(context: QueryContext, agent: str, session_id: str) -> TitledSession:
    summary = context.redact_summary(
        load_session_summary(context.reader, agent, session_id)
    )
    return TitledSession(
        agent=agent,
        session_id=summary.key.session_id,
        title=summary.title,
        project=PurePath(summary.project).name,
        ended_at=summary.ended_at,
        resume_command=format_resume_command(summary),
    )
