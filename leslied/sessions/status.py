"""The status of a session, and whether one of its units is finished."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from leslied.model.times import to_us

if TYPE_CHECKING:
    from leslied.model.session import SessionSummary, Status

STOPPED_AFTER = timedelta(minutes=10)
"""A session without entries for this long counts as stopped."""
SETTLE_AFTER = timedelta(seconds=2)
"""A unit is finished when its turn ended and no entry came for this long."""


def compute_status(session: SessionSummary, now: datetime) -> Status:
    """Return `stopped` after a stop or long silence, `idle` after a turn, or `active`.

    Silence does not count while the session's process runs, because a tool may run for
    half an hour and write nothing.
    """
    last_entry_at = session.ended_at or session.started_at
    is_quiet = last_entry_at is None or now - last_entry_at > STOPPED_AFTER
    if session.is_stopped or (is_quiet and not session.is_live):
        return "stopped"
    return "idle" if session.has_turn_ended else "active"


def compute_stop_cutoff_us(now: datetime) -> int:
    """Return the cutoff: a session whose last entry is earlier has stopped.

    The time is in microseconds since 1970.
    """
    return to_us(now - STOPPED_AFTER)


def is_unit_finished(session: SessionSummary, unit: int, now: datetime) -> bool:
    """Return whether a unit gets no more entries, so that it can be settled.

    The next prompt came, the session stopped, or its turn ended some seconds ago.
    """
    if unit < session.units or compute_status(session, now) == "stopped":
        return True
    is_quiet = session.seen_at is None or now - session.seen_at >= SETTLE_AFTER
    return session.has_turn_ended and is_quiet
