"""Wait for conditions instead of fixed times, so that tests pass on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

MAX_WAIT_SECONDS = 120
"""Longest wait for an expected event; only a failing test waits that long."""


def wait_until(
    condition: Callable[[], bool], seconds: float = MAX_WAIT_SECONDS
) -> None:
    """Return as soon as the condition is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still false after {seconds} seconds"
        time.sleep(0.02)
