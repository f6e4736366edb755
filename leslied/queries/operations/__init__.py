"""Questions about leslied itself: agents, status, health, disk usage, bug reports."""

from __future__ import annotations
