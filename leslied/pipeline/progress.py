"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]
"""Called now and then with how much is done, and of how much; 0 where no one knows."""


def ignore_progress(_done: int, _total: int) -> None:
    """Nobody looks on."""
