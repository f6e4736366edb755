"""Whether a session works, rests, or is over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from leslied.model.session import SessionSummary, Status

QUIET = timedelta(minutes=10)
"""Without any better sign, a session this long silent is over."""


def tell_status(session: SessionSummary, now: datetime) -> Status:
    """Stopped when told or long quiet, idle after a turn's end, else active."""
    last = session.ended_at or session.started_at
    if session.is_stopped or last is None or now - last > QUIET:
        return "stopped"
    return "idle" if session.has_turn_ended else "active"
