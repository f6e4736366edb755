"""Living: time, threads, signals.

The door: `Loop` runs until it is told to stop.
"""

from __future__ import annotations

from leslied.daemon.loop import Loop

__all__ = ["Loop"]
