"""Living: time, threads, signals.

The door: `Loop` runs until it is told to stop, `Notifier` tells who started it.
"""

from __future__ import annotations

from leslied.daemon.loop import Loop
from leslied.daemon.notify import Notifier

__all__ = ["Loop", "Notifier"]
