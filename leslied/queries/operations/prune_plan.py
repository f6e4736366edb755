"""Plan and result of pruning: the sessions, and counts of deleted things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leslied.model.codec import encode_time
from leslied.model.query import Selection
from leslied.queries.operations.disk import find_store_copies, measure_sizes
from leslied.queries.sessions import list_sessions
from leslied.sessions.retention import (
    PruneCandidate,
    PrunePlan,
    RetentionPolicy,
    StorageSizes,
    plan_pruning,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.model.query import Filter
    from leslied.model.session import SessionSummary
    from leslied.queries.context import QueryContext

__all__ = ["PruneAnswer", "PruneRequest", "RetentionPolicy", "plan_prune"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest:
    """Which sessions to prune."""

    policy: RetentionPolicy
    filters: tuple[Filter, ...] = ()
    include_failed: bool = False
    """Whether to delete sessions whose last turn failed, too."""
    include_transcripts: bool = False
    """Whether to delete the sessions' transcripts, too."""
    command: str = ""
    """The command line that deletes these sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneAnswer:
    """The sessions to delete; after the deletion, also counts of deleted things."""

    context: QueryContext
    request: PruneRequest
    plan: PrunePlan
    sizes: StorageSizes
    """Sizes before the deletion."""
    copies_bytes: int
    """Size of the older copies of the store."""
    removed: dict[str, int] | None = None
    """Numbers of deleted things; None if nothing was deleted."""
    warnings: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the sessions were deleted."""
        return self.removed is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        plan = self.plan
        return {
            "done": self.is_done,
            "count": len(plan.candidates),
            "bytes": sum(each.size for each in plan.candidates),
            "bytes_before": self.sizes.total,
            "bytes_after": plan.remaining_bytes,
            "copies_bytes": self.copies_bytes,
            "sessions": [self._candidate_to_dict(each) for each in plan.candidates],
            "staying": {
                reason: len(sessions)
                for reason, sessions in plan.kept_by_reason.items()
            },
            "command": self.request.command,
            **(self.removed or {}),
        }

    def _candidate_to_dict(self, candidate: PruneCandidate) -> dict[str, Any]:
        session = self.context.redact_summary(candidate.session)
        return {
            "id": session.key.session_id,
            "agent": session.key.agent,
            "project": session.project or None,
            "title": session.title or None,
            "ended_at": encode_time(session.ended_at),
            "subagents": session.subagents,
            "why": list(candidate.reasons),
            "bytes": candidate.size,
        }


def plan_prune(
    context: QueryContext,
    request: PruneRequest,
    find_reason_to_keep: Callable[[SessionSummary], str],
) -> PruneAnswer:
    """Return which sessions would be deleted; delete nothing.

    `find_reason_to_keep` returns why a session must not be deleted, or "".
    """
    sizes = measure_sizes(context.reader)
    sessions = list_sessions(context.reader, Selection(filters=request.filters))
    copies = find_store_copies(context.paths.store_file)
    return PruneAnswer(
        context=context,
        request=request,
        plan=plan_pruning(sessions, request.policy, sizes, find_reason_to_keep),
        sizes=sizes,
        copies_bytes=sum(copy.stat().st_size for copy in copies),
    )
