"""Signals: requests to stop, and to scan.

A stop gives running work a moment to end, and then interrupts it.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from leslied.daemon.loop import Loop

STOP_SECONDS = 1.2
"""Seconds after a stop signal before unfinished work is interrupted."""
_SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGCONT,
    signal.SIGALRM,
)


@dataclass(slots=True)
class SignalState:
    """Requests made by signals, which may arrive before the loop exists."""

    stopping: threading.Event = field(default_factory=threading.Event)
    loop: Loop | None = None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Request a scan on SIGHUP and SIGCONT, and a stop on other signals.

        File events may have been lost before SIGCONT. Work that delays a stop too long
        is interrupted; as after a crash, nothing is lost.
        """
        # The timer that a stop starts has run out.
        if number == signal.SIGALRM:
            if self.loop and self.loop.has_ended:
                return
            raise SystemExit(0)
        if number not in (signal.SIGHUP, signal.SIGCONT):
            self.stopping.set()
            signal.setitimer(signal.ITIMER_REAL, STOP_SECONDS)
        if self.loop:
            # This also wakes a loop that is to end.
            self.loop.request_scan()


@contextmanager
def handle_signals() -> Iterator[SignalState]:
    """Handle signals; restore the previous handlers at the end."""
    signals = SignalState()
    previous_handlers = {
        number: signal.signal(number, signals.handle) for number in _SIGNALS
    }
    try:
        yield signals
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
