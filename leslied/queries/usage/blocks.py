"""Five-hour blocks: the windows in which vendors' plans count usage.

A block starts at the full hour (UTC) of its first message and lasts five hours. The
first message after its end, or after five hours without a message, starts the next
block.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from leslied.queries.usage.local_days import to_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.model.stats import UsageBucket, UsageSummary

_HOUR_US = 3_600_000_000
_BLOCK_US = 5 * _HOUR_US
_BLOCK_LENGTH = timedelta(microseconds=_BLOCK_US)


class UsageBlock(Struct, frozen=True):
    """Usage of one agent in one five-hour window."""

    start: datetime
    summary: UsageSummary

    @property
    def end(self) -> datetime:
        """End of the window."""
        return self.start + _BLOCK_LENGTH

    def is_active(self, now: datetime) -> bool:
        """Return whether a message sent now would belong to this block."""
        last_at = self.summary.last_at
        if last_at is None:
            return False
        return now < self.end and now - last_at < _BLOCK_LENGTH

    def per_hour(self, amount: float) -> float | None:
        """Return the amount per hour between the first and last message.

        Return None if no time passed between them.
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
    messages_by_agent: dict[str, list[UsageBucket]] = {}
    for message in messages:
        messages_by_agent.setdefault(message.agent, []).append(message)
    blocks: list[tuple[datetime, list[UsageBucket]]] = []
    for agent_messages in messages_by_agent.values():
        for block_messages in _split_messages(agent_messages):
            start = to_time(_floor_to_hour(block_messages[0]))
            # Blocks with a start that a datetime cannot represent are dropped.
            if start:
                blocks.append((start, block_messages))
    return sorted(blocks, key=lambda block: (block[0], block[1][0].agent))


def _split_messages(messages: list[UsageBucket]) -> list[list[UsageBucket]]:
    """Split the messages of one agent into blocks."""
    blocks: list[list[UsageBucket]] = []
    start_us = last_us = 0
    for message in messages:
        at_us = message.first_us or 0
        if not blocks or at_us - start_us > _BLOCK_US or at_us - last_us > _BLOCK_US:
            blocks.append([])
            start_us = _floor_to_hour(message)
        blocks[-1].append(message)
        last_us = at_us
    return blocks


def _floor_to_hour(message: UsageBucket) -> int:
    """Return the start of the hour (UTC) of a message, in microseconds."""
    at_us = message.first_us or 0
    return at_us - at_us % _HOUR_US
