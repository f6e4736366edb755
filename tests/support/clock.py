"""A clock that moves only when a test advances it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Event


class FakeClock:
    """Clock that `advance`, `sleep` and `wait` move, without waiting."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
        self.seconds = 1000.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def wait(self, event: Event, seconds: float) -> bool:
        if not event.is_set():
            self.advance(seconds)
        return event.is_set()

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.seconds += seconds
