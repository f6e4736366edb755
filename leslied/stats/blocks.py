"""Five-hour blocks: the windows in which Claude's plans count.

A block begins at the full hour (UTC) of its first message and lasts five hours; the
next message after it, or after five hours of silence, begins another.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leslied.stats.zone import to_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.stats import UsageBucket, UsageSummary

_BLOCK = timedelta(hours=5)
_BLOCK_US = 5 * 3_600_000_000
_HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class UsageBlock:
    """What one agent used in one window."""

    start: datetime
    sum: UsageSummary

    @property
    def end(self) -> datetime:
        """When the window closes."""
        return self.start + _BLOCK

    def is_active(self, now: datetime) -> bool:
        """Whether the next message would still count here."""
        last = self.sum.last_at
        return last is not None and now < self.end and now - last < _BLOCK

    def per_hour(self, amount: float) -> float | None:
        """How much that is an hour, between the first message and the last."""
        if not self.sum.first_at or not self.sum.last_at:
            return None
        hours = (self.sum.last_at - self.sum.first_at) / timedelta(hours=1)
        return amount / hours if hours > 0 else None


def split_into_blocks(
    messages: Iterable[UsageBucket],
) -> list[tuple[datetime, list[UsageBucket]]]:
    """When each agent's blocks begin and what is in them, the earliest first."""
    by_agent: dict[str, list[UsageBucket]] = {}
    for message in messages:
        by_agent.setdefault(message.agent, []).append(message)
    parts = [part for each in by_agent.values() for part in _split_blocks(each)]
    found = [(to_time(_floor_to_hour(part[0])), part) for part in parts]
    known = [(start, part) for start, part in found if start]
    return sorted(known, key=lambda block: (block[0], block[1][0].agent))


def _split_blocks(messages: list[UsageBucket]) -> list[list[UsageBucket]]:
    parts: list[list[UsageBucket]] = []
    start = last = 0
    for message in messages:
        at = message.first_us or 0
        if not parts or at - start > _BLOCK_US or at - last > _BLOCK_US:
            parts.append([])
            start = _floor_to_hour(message)
        parts[-1].append(message)
        last = at
    return parts


def _floor_to_hour(message: UsageBucket) -> int:
    at = message.first_us or 0
    return at - at % _HOUR_US
