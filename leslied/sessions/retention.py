"""Which sessions go, when somebody wants fewer. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from leslied.model.session import SessionSummary, Unit

Why = Literal["old", "surplus", "size"]
_TELLS_NOTHING = ("system_event", "token_usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is too much; a session goes when any of these names it."""

    before: datetime | None = None
    """Sessions last active before this go."""
    keep: int | None = None
    """All but so many of the last active go."""
    most_bytes: int | None = None
    """The oldest go until no more than this is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much room store and archive take, and each session (agent and id) in them."""

    store: int
    archive: int
    stored: Mapping[tuple[str, str], int]
    archived: Mapping[tuple[str, str], int]

    @property
    def total(self) -> int:
        """All of it."""
        return self.store + self.archive

    def of(self, name: tuple[str, str]) -> int:
        """What is free once the session is gone."""
        return self.stored.get(name, 0) + self.archived.get(name, 0)

    def left_in_store(self, going: Iterable[Going]) -> int:
        """The store's bytes once these are gone."""
        gone = (self.stored.get(each.session.key[:2], 0) for each in going)
        return self.store - sum(gone)


@dataclass(frozen=True, slots=True)
class Going:
    """A session that goes."""

    session: SessionSummary
    why: tuple[Why, ...]
    size: int


@dataclass(slots=True)
class Choice:
    """Who goes, and who stays although somebody might have thought otherwise."""

    going: list[Going] = field(default_factory=list)
    """The longest quiet first."""
    staying: dict[str, list[SessionSummary]] = field(default_factory=dict)
    """By the reason why it may not go."""
    left: int = 0
    """Bytes that are left, as far as can be told before."""


def choose(
    sessions: Sequence[SessionSummary],
    policy: Policy,
    sizes: Sizes,
    why_stays: Callable[[SessionSummary], str],
) -> Choice:
    """The sessions that the policy names, but for those with a reason to stay.

    `sessions` are the last active first; the reason is asked for only where it counts.
    """
    choice = Choice(left=sizes.total)
    kept = policy.keep if policy.keep is not None else len(sessions)
    for place, session in reversed(list(enumerate(sessions))):
        why: list[Why] = []
        if policy.before and _is_before(session, policy.before):
            why.append("old")
        if place >= kept:
            why.append("surplus")
        if policy.most_bytes is not None and choice.left > policy.most_bytes:
            why.append("size")
        if not why:
            continue
        if reason := why_stays(session):
            choice.staying.setdefault(reason, []).append(session)
            continue
        size = sizes.of(session.key[:2])
        choice.going.append(Going(session, tuple(why), size))
        choice.left -= size
    return choice


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
    said = [record for record in records if record.type not in _TELLS_NOTHING]
    return bool(said) and said[-1].type == "error"


def _is_before(session: SessionSummary, moment: datetime) -> bool:
    """Whether nothing happened since; what tells no time is as old as its reading."""
    last = session.ended_at or session.started_at or session.seen_at
    return last is not None and last < moment
