"""Plan and result of forgetting, with the files that leslied does not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from leslied.model.session import SessionSummary

MIN_TEXT_CHARACTERS = 4
"""A shorter text would be found by chance in ids and numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """What to forget: a session, or all entries that hold a text."""

    id: str = ""
    """Id of the session, or a prefix of it; empty if `text` is given."""
    text: str = ""


class ForgottenSession(NamedTuple):
    """A session that loses entries."""

    session: SessionSummary
    """The session, redacted."""
    entries: int
    """Number of entries to forget, with those of subagents."""
    is_whole: bool
    """Whether the whole session is forgotten."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.session.key.session_id,
            "agent": self.session.key.agent,
            "project": self.session.project or None,
            "title": self.session.title or None,
            "entries": self.entries,
            "whole": self.is_whole,
        }


class Remainder(NamedTuple):
    """A file with forgotten content that leslied does not change."""

    kind: Literal["log", "git", "asset", "path", "own"]
    """`log`: the agent's log; `git`: a repository that tracks transcripts; `asset`: a
    file that an agent or a person wrote; `path`: a log whose path holds the text, but
    must be stored so that the log is skipped; `own`: a file of leslied."""
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetAnswer:
    """The entries and sessions that would be or were forgotten."""

    request: ForgetRequest
    sessions: tuple[ForgottenSession, ...] = ()
    entries: int = 0
    """Number of different entries; sessions can share entries."""
    rejected: int = 0
    """Number of entries that could not be decoded and hold the text."""
    archive_files: int = 0
    """Number of archive files that have the entries."""
    remainders: tuple[Remainder, ...] = ()
    removed_records: int | None = None
    """Number of deleted records; None if nothing was deleted."""
    warnings: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the entries were forgotten."""
        return self.removed_records is not None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to forget."""
        counts = (len(self.sessions), self.entries, self.rejected, self.archive_files)
        return not any(counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        removed = self.removed_records
        return {
            "done": self.is_done,
            "count": len(self.sessions),
            "entries": self.entries,
            "rejected": self.rejected,
            "archive_files": self.archive_files,
            "sessions": [session.to_dict() for session in self.sessions],
            "unreachable": [each._asdict() for each in self.remainders],
            **({} if removed is None else {"records_removed": removed}),
        }
