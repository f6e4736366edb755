"""Living: time, threads, signals.

The door: `Loop` runs until it is told to stop, `read_first` reads what was there
before, `Notifier` tells who started it.
"""

from __future__ import annotations

from leslied.daemon.initial_sync import run_initial_sync
from leslied.daemon.loop import Loop
from leslied.daemon.notify import Notifier

__all__ = ["Loop", "Notifier", "run_initial_sync"]
