"""The progress callback of long-running work."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]
"""Called now and then with the amount done and the total (0 if unknown)."""


def ignore_progress(_done: int, _total: int) -> None:
    """Do nothing: the default callback, for callers that show no progress."""
