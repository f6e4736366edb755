"""Five-hour blocks: the windows in which Claude's plans count usage.

A block starts at the full hour (UTC) of its first message and lasts five hours. The
first message after its end, or after five hours without a message, starts the next
block.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leslied.stats.zone import to_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.stats import UsageBucket, UsageSummary

_BLOCK_LENGTH = timedelta(hours=5)
_BLOCK_US = 5 * 3_600_000_000
_HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class UsageBlock:
    """Usage of one agent in one five-hour window."""

    start: datetime
    summary: UsageSummary

    @property
    def end(self) -> datetime:
        """End of the window."""
        return self.start + _BLOCK_LENGTH

    def is_active(self, now: datetime) -> bool:
        """Return whether a message sent now would belong to this block."""
        last = self.summary.last_at
        return last is not None and now < self.end and now - last < _BLOCK_LENGTH

    def per_hour(self, amount: float) -> float | None:
        """Return the amount per hour between the first and last message.

        Return None if there is no time between them.
        """
        if not self.summary.first_at or not self.summary.last_at:
            return None
        hours = (self.summary.last_at - self.summary.first_at) / timedelta(hours=1)
        return amount / hours if hours > 0 else None


def split_into_blocks(
    messages: Iterable[UsageBucket],
) -> list[tuple[datetime, list[UsageBucket]]]:
    """Return the start and the messages of each block, earliest block first.

    Each agent has its own blocks. `messages` are buckets of one message each, sorted
    by time.
    """
    by_agent: dict[str, list[UsageBucket]] = {}
    for message in messages:
        by_agent.setdefault(message.agent, []).append(message)
    blocks = [
        (to_time(_floor_to_hour(block[0])), block)
        for agent_messages in by_agent.values()
        for block in _split_messages(agent_messages)
    ]
    # Blocks with a start that a datetime cannot represent are dropped.
    valid = [(start, block) for start, block in blocks if start]
    return sorted(valid, key=lambda pair: (pair[0], pair[1][0].agent))


def _split_messages(messages: list[UsageBucket]) -> list[list[UsageBucket]]:
    """Split the messages of one agent into blocks."""
    blocks: list[list[UsageBucket]] = []
    start = last = 0
    for message in messages:
        at = message.first_us or 0
        if not blocks or at - start > _BLOCK_US or at - last > _BLOCK_US:
            blocks.append([])
            start = _floor_to_hour(message)
        blocks[-1].append(message)
        last = at
    return blocks


def _floor_to_hour(message: UsageBucket) -> int:
    at = message.first_us or 0
    return at - at % _HOUR_US
