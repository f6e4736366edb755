"""Which sessions go, when somebody wants fewer. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from leslied.model.session import SessionSummary, Unit

PruneReason = Literal["old", "surplus", "size"]
_BOOKKEEPING_TYPES = ("system_event", "token_usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """What is too much; a session goes when any of these names it."""

    before: datetime | None = None
    """Sessions last active before this go."""
    keep_newest: int | None = None
    """All but so many of the last active go."""
    max_bytes: int | None = None
    """The oldest go until no more than this is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSizes:
    """How much room store and archive take, and each session (agent and id) in them."""

    store: int
    archive: int
    store_by_session: Mapping[tuple[str, str], int]
    archive_by_session: Mapping[tuple[str, str], int]

    @property
    def total(self) -> int:
        """All of it."""
        return self.store + self.archive

    def get_session_size(self, session_key: tuple[str, str]) -> int:
        """What is free once the session is gone."""
        return self.store_by_session.get(session_key, 0) + self.archive_by_session.get(
            session_key, 0
        )

    def compute_remaining_store(self, candidates: Iterable[PruneCandidate]) -> int:
        """The store's bytes once these are gone."""
        gone = (
            self.store_by_session.get(each.session.key[:2], 0) for each in candidates
        )
        return self.store - sum(gone)


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """A session that goes."""

    session: SessionSummary
    reasons: tuple[PruneReason, ...]
    size: int


@dataclass(slots=True)
class PrunePlan:
    """Who goes, and who stays although somebody might have thought otherwise."""

    candidates: list[PruneCandidate] = field(default_factory=list)
    """The longest quiet first."""
    kept_by_reason: dict[str, list[SessionSummary]] = field(default_factory=dict)
    """By the reason why it may not go."""
    remaining_bytes: int = 0
    """Bytes that are left, as far as can be told before."""


def plan_pruning(
    sessions: Sequence[SessionSummary],
    policy: RetentionPolicy,
    sizes: StorageSizes,
    find_reason_to_keep: Callable[[SessionSummary], str],
) -> PrunePlan:
    """The sessions that the policy names, but for those with a reason to stay.

    `sessions` are the last active first; the reason is asked for only where it counts.
    """
    plan = PrunePlan(remaining_bytes=sizes.total)
    kept = policy.keep_newest if policy.keep_newest is not None else len(sessions)
    for place, session in reversed(list(enumerate(sessions))):
        why: list[PruneReason] = []
        if policy.before and _is_before(session, policy.before):
            why.append("old")
        if place >= kept:
            why.append("surplus")
        if policy.max_bytes is not None and plan.remaining_bytes > policy.max_bytes:
            why.append("size")
        if not why:
            continue
        if reason := find_reason_to_keep(session):
            plan.kept_by_reason.setdefault(reason, []).append(session)
            continue
        size = sizes.get_session_size(session.key[:2])
        plan.candidates.append(PruneCandidate(session, tuple(why), size))
        plan.remaining_bytes -= size
    return plan


def has_failed(last: Unit) -> bool:
    """Whether a session ended badly, by its last unit.

    An error or an interrupt ended it, a call never got its result, or the last that was
    said is an error.
    """
    if last.stop_reason in ("error", "cancelled"):
        return True
    records = [placed.record for placed in last.entries]
    if any(record.metadata.get("is_unanswered") for record in records):
        return True
    said = [record for record in records if record.type not in _BOOKKEEPING_TYPES]
    return bool(said) and said[-1].type == "error"


def _is_before(session: SessionSummary, moment: datetime) -> bool:
    """Whether nothing happened since; what tells no time is as old as its reading."""
    last = session.ended_at or session.started_at or session.seen_at
    return last is not None and last < moment
