"""Describe totals: token usage, cost and tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from leslied.model.record import Usage

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.record import SessionKey

Grouping = Literal[
    "day", "week", "month", "model", "project", "agent", "session", "tool", "block"
]
StoreGrouping = Grouping | Literal["hour"]
"""How the store can group messages; days and hours are those of the local time."""
PICO = 10**12
"""Picodollars per dollar; prices per token are whole numbers of picodollars."""


class PriceBreaks(NamedTuple):
    """Limits at which prices change: request sizes, times, and times of day."""

    sizes: tuple[int, ...] = ()
    """In tokens."""
    times: tuple[int, ...] = ()
    """In microseconds since 1970."""
    hours: tuple[int, ...] = ()
    """Times of the day, in microseconds since midnight UTC."""


class UsageBucket(NamedTuple):
    """Messages of one group and model with the same price per token."""

    key: int | str | None
    """Identifies the group; None for messages that belong to none."""
    session: SessionKey | None
    """The session or subagent; None unless the caller requested it."""
    agent: str
    model: str
    messages: int
    size: int
    """Input tokens of the largest request."""
    first_us: int | None
    last_us: int | None
    usage: Usage


class Cost(NamedTuple):
    """Cost in picodollars, and the numbers of messages with and without a price."""

    pico: int = 0
    priced: int = 0
    unpriced: int = 0

    @property
    def usd(self) -> float | None:
        """The known cost in dollars; None if no message has a price."""
        return self.pico / PICO if self.priced else None

    def plus(self, other: Cost) -> Cost:
        """Return the sum of the two costs."""
        return Cost(
            self.pico + other.pico,
            self.priced + other.priced,
            self.unpriced + other.unpriced,
        )


class ToolCall(NamedTuple):
    """One tool call and its outcome."""

    session: SessionKey
    tool: str
    entry_id: bytes
    created_us: int | None
    duration_us: int | None
    """Time from the call to its result; None if either has no time."""
    is_answered: bool
    is_failed: bool


class UsageSummary(Struct, frozen=True, kw_only=True):
    """One row of a usage table."""

    key: str | None
    """The group's name; None for messages without one, such as those without a time."""
    agent: str = ""
    """The agent of all messages; empty if there are several."""
    usage: Usage = field(default_factory=Usage)
    messages: int = 0
    sessions: int = 0
    cost: Cost = field(default_factory=Cost)
    models: tuple[str, ...] = ()
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def tokens(self) -> int:
        """Number of tokens of all kinds."""
        return self.usage.total_tokens

    @property
    def seconds(self) -> float:
        """Time from the first to the last message; 0 if no message has a time."""
        if not self.first_at or not self.last_at:
            return 0.0
        return (self.last_at - self.first_at).total_seconds()


class ToolUsageSummary(Struct, frozen=True, kw_only=True):
    """Calls of one tool: their number, outcomes and durations."""

    tool: str
    calls: int
    failed: int
    unanswered: int
    sessions: int
    timed: int
    """Number of calls with a known duration."""
    median_seconds: float | None
    p95_seconds: float | None
    max_seconds: float | None
    total_seconds: float
    slowest: ToolCall | None
