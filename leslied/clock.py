"""The clock: the only module that reads the time or sleeps, so tests can replace it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of wall time for timestamps and monotonic time for durations."""

    def now(self) -> datetime:
        """Return the wall time as an aware datetime in UTC."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes backwards."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> datetime:
        """Return the wall time as an aware datetime in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        time.sleep(seconds)
