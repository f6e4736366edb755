"""Sums: what was used, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from leslied.model.record import Usage

if TYPE_CHECKING:
    from datetime import datetime

Grouping = Literal[
    "day", "week", "month", "model", "project", "agent", "session", "tool", "block"
]
PICO = 10**12


class PriceBreaks(NamedTuple):
    """Where prices change: sizes of requests, times, and times of the day."""

    sizes: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    hours: tuple[int, ...] = ()


class UsageBucket(NamedTuple):
    """Messages of one group and model that cost the same for each token."""

    key: int | str | None
    session: int
    """The store's number of the stream that owns them; 0 where nobody asked."""
    agent: str
    model: str
    messages: int
    size: int
    """The largest input of one request."""
    first_us: int | None
    last_us: int | None
    usage: Usage


class Cost(NamedTuple):
    """Money in picodollars, and how many messages have no known price."""

    pico: int = 0
    priced: int = 0
    unpriced: int = 0

    @property
    def usd(self) -> float | None:
        """Dollars of what is known; None where nothing is."""
        return self.pico / PICO if self.priced else None

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


class ToolCall(NamedTuple):
    """One call of a tool, and how it went."""

    session: int
    tool: str
    entry_id: bytes
    created_us: int | None
    took_us: int | None
    """From the call to its result; None where either has no time."""
    is_answered: bool
    is_failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSummary:
    """One line of a statistic."""

    key: str | None
    """The group's name; None for what has none, as messages without a time."""
    agent: str = ""
    usage: Usage = field(default_factory=Usage)
    messages: int = 0
    sessions: int = 0
    cost: Cost = field(default_factory=Cost)
    models: tuple[str, ...] = ()
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def tokens(self) -> int:
        """All tokens together."""
        usage = self.usage
        return (
            usage.input_tokens
            + usage.output_tokens
            + usage.cache_read_tokens
            + usage.cache_write_tokens
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUsageSummary:
    """How often a tool was called, how it went, and how long it took."""

    tool: str
    calls: int
    failed: int
    unanswered: int
    sessions: int
    timed: int
    """Calls whose duration is known."""
    median_seconds: float | None
    p95_seconds: float | None
    max_seconds: float | None
    total_seconds: float
    slowest: ToolCall | None
