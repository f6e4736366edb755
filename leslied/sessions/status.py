"""Whether a session works, rests, or is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leslied.model.session import SessionSummary, Status

STOPPED_AFTER = timedelta(minutes=10)
"""Without any better sign, a session this long silent is over."""


def compute_status(
    session: SessionSummary, now: datetime, *, is_live: bool = False
) -> Status:
    """Stopped when told or long quiet, idle after a turn's end, else active.

    A live process vetoes quiet: a tool may run for half an hour and write nothing.
    """
    last = session.ended_at or session.started_at
    is_quiet = last is None or now - last > STOPPED_AFTER
    if session.is_stopped or (is_quiet and not (is_live or session.is_live)):
        return "stopped"
    return "idle" if session.has_turn_ended else "active"


def stopped_before_us(now: datetime) -> int:
    """Microseconds since 1970 of the moment since which silence is an end."""
    return (now - STOPPED_AFTER - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )
