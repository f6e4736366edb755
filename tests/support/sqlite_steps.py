"""Count what SQLite does, because times depend on the machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable


def count_steps(db: sqlite3.Connection, work: Callable[[], object]) -> int:
    """Return how many instructions SQLite's virtual machine runs in `work`."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    db.set_progress_handler(count, 1)
    try:
        work()
    finally:
        db.set_progress_handler(None, 0)
    return steps
