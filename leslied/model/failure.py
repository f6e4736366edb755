"""Describe work that raised an exception and will be retried."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime


class Failure(NamedTuple):
    """One piece of work that raised an exception, and its next attempt."""

    scope: str
    """The kind of work: `source`, `transcript`, `hook event`, `stage`, …"""
    name: str
    """What failed: a path, a session id, the name of a stage."""
    reason: str
    attempts: int
    retry_at: datetime
