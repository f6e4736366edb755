"""leslied collects the logs of coding agents and turns them into transcripts."""

from __future__ import annotations

__version__ = "0.1.0"
