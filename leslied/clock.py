"""The only room that may ask what time it is, or let it pass."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for stamps, monotonic time for durations."""

    def now(self) -> datetime:
        """The wall time, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never jump."""

    def sleep(self, seconds: float) -> None:
        """So many seconds have passed."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The wall time, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """So many seconds have passed."""
        time.sleep(seconds)
