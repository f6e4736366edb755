"""A session, played again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from leslied.model.record import Placed
    from leslied.model.session import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """An entry, and how long after the one before it it came."""

    pause: timedelta
    placed: Placed
    unit: Unit
    """The unit or subagent whose entry it is."""
    depth: int
    """0 in the session itself, 1 in a subagent, 2 in a subagent of that one."""
