"""Describe the entries of a session replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import timedelta

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Unit


class TimedEntry(Struct, frozen=True, kw_only=True):
    """An entry of a replay, and the pause before it."""

    pause: timedelta
    placed: PlacedRecord
    unit: Unit
    """The unit or subagent that the entry belongs to."""
    depth: int
    """0 in the session itself, 1 in a subagent, 2 in a subagent of a subagent."""
