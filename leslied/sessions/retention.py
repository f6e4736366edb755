"""The choice of sessions to prune. Pure."""

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
    """Rules for pruning; a session is pruned if any of them matches."""

    before: datetime | None = None
    """Prune sessions that were last active before this time."""
    keep_newest: int | None = None
    """Prune all sessions except this number of the most recently active ones."""
    max_bytes: int | None = None
    """Prune the least recently active sessions until at most this many bytes remain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSizes:
    """Bytes of the store and the archive, in total and by session (agent and id)."""

    store: int
    archive: int
    store_by_session: Mapping[tuple[str, str], int]
    archive_by_session: Mapping[tuple[str, str], int]

    @property
    def total(self) -> int:
        """Bytes of the store and the archive together."""
        return self.store + self.archive

    def get_session_size(self, session_key: tuple[str, str]) -> int:
        """Return the bytes that pruning the session frees."""
        return self.store_by_session.get(session_key, 0) + self.archive_by_session.get(
            session_key, 0
        )

    def compute_remaining_store(self, candidates: Iterable[PruneCandidate]) -> int:
        """Return the store's bytes without these sessions."""
        freed_bytes = sum(
            self.store_by_session.get(candidate.session.key[:2], 0)
            for candidate in candidates
        )
        return self.store - freed_bytes


@dataclass(frozen=True, slots=True)
class PruneCandidate:
    """A session to prune, with the rules that match it."""

    session: SessionSummary
    reasons: tuple[PruneReason, ...]
    size: int
    """Bytes that pruning the session frees."""


@dataclass(slots=True)
class PrunePlan:
    """Sessions to prune, and sessions that match a rule but must stay."""

    candidates: list[PruneCandidate] = field(default_factory=list)
    """Sessions to prune, the least recently active first."""
    kept_by_reason: dict[str, list[SessionSummary]] = field(default_factory=dict)
    """Sessions that match a rule but must stay, by the reason to keep them."""
    remaining_bytes: int = 0
    """Estimate of the bytes that remain after pruning."""


def plan_pruning(
    sessions: Sequence[SessionSummary],
    policy: RetentionPolicy,
    sizes: StorageSizes,
    find_reason_to_keep: Callable[[SessionSummary], str],
) -> PrunePlan:
    """Plan to prune the sessions that match the policy and have no reason to stay.

    `sessions` are sorted, most recently active first. `find_reason_to_keep` is called
    only for sessions that match; it returns an empty string if there is no reason.
    """
    plan = PrunePlan(remaining_bytes=sizes.total)
    keep_count = policy.keep_newest if policy.keep_newest is not None else len(sessions)
    for position, session in reversed(list(enumerate(sessions))):
        reasons: list[PruneReason] = []
        if policy.before and _is_before(session, policy.before):
            reasons.append("old")
        if position >= keep_count:
            reasons.append("surplus")
        if policy.max_bytes is not None and plan.remaining_bytes > policy.max_bytes:
            reasons.append("size")
        if not reasons:
            continue
        if reason_to_keep := find_reason_to_keep(session):
            plan.kept_by_reason.setdefault(reason_to_keep, []).append(session)
            continue
        size = sizes.get_session_size(session.key[:2])
        plan.candidates.append(PruneCandidate(session, tuple(reasons), size))
        plan.remaining_bytes -= size
    return plan


def has_failed(last_unit: Unit) -> bool:
    """Return whether a session failed, judged by its last unit.

    It failed if the unit ended with an error or an interrupt, if a call in the unit has
    no result, or if the last message is an error.
    """
    if last_unit.stop_reason in ("error", "cancelled"):
        return True
    records = [placed.record for placed in last_unit.entries]
    if any(record.metadata.get("is_unanswered") for record in records):
        return True
    messages = [record for record in records if record.type not in _BOOKKEEPING_TYPES]
    return bool(messages) and messages[-1].type == "error"


def _is_before(session: SessionSummary, time: datetime) -> bool:
    """Return whether the session was last active before this time.

    For a log without times, the time at which it was read counts.
    """
    last_active_at = session.ended_at or session.started_at or session.seen_at
    return last_active_at is not None and last_active_at < time
