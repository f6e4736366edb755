"""The progress callback of long-running work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

ProgressCallback = Callable[[int, int], None]
"""Called now and then with the amount done and the total (0 if unknown)."""


def ignore_progress(_done: int, _total: int) -> None:
    """Do nothing: the default callback, for callers that show no progress."""


class StageProgress(Protocol):
    """A display of the progress of several stages."""

    def start(self, label: str, /, *, in_bytes: bool = False) -> None:
        """Start the next stage; `in_bytes` says that its progress is in bytes."""

    def update(self, done: int, total: int, /) -> None:
        """Show the progress of the current stage, as a ProgressCallback."""
