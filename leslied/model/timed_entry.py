"""A session, played again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedEntry:
    """An entry, and how long after the one before it it came."""

    pause: timedelta
    placed: PlacedRecord
    unit: Unit
    """The unit or subagent whose entry it is."""
    depth: int
    """0 in the session itself, 1 in a subagent, 2 in a subagent of that one."""
