"""Wait on conditions: soon over on an idle machine, and not too short on a busy one."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 120
"""How long to wait for what must happen; only a failing test waits that long."""


def wait_until(is_true: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Return as soon as the condition holds; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"waited {seconds} seconds in vain"
        time.sleep(0.02)
