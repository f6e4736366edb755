"""The clock, which tests can replace.

Except for the hook program, no other module reads the time or lets time pass. Waiting
for input with a time limit, such as a key or a changed file, is not sleeping.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from threading import Event


class Clock(Protocol):
    """Source of wall time for timestamps and monotonic time for durations."""

    def now(self) -> datetime:
        """Return the wall time as an aware datetime in UTC."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes backwards."""

    def sleep(self, seconds: float) -> None:
        """Suspend the calling thread for this many seconds."""

    def wait(self, event: Event, seconds: float) -> bool:
        """Sleep until the event is set, or this long; return whether it is set."""


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> datetime:
        """Return the wall time as an aware datetime in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Suspend the calling thread for this many seconds."""
        time.sleep(seconds)

    def wait(self, event: Event, seconds: float) -> bool:
        """Sleep until the event is set, or this long; return whether it is set."""
        return event.wait(seconds)
