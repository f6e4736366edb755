"""The status of a session, and when one of its units is finished."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

from leslied.model.times import to_us
from leslied.sessions.turns import is_in_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leslied.model.record import PlacedRecord
    from leslied.model.session import Activity, SessionSummary, Status, WaitingFor

STOPPED_AFTER = timedelta(minutes=10)
"""A session without entries for this long counts as stopped."""
SETTLE_AFTER = timedelta(seconds=2)
"""A unit is finished when its turn ended and no entry came for this long."""
SETTLE_AFTER_ANNOUNCEMENT = timedelta(seconds=0.15)
"""As SETTLE_AFTER, if a hook announced the end: Claude Code writes its last lines up to
0.1 seconds apart, and another hook may still make it continue."""


def compute_status(session: SessionSummary, now: datetime) -> Status:
    """Return `stopped` after a stop or long silence, `idle` after a turn, or `active`.

    Silence does not count while the session's process runs, because a tool may run for
    half an hour and write nothing. A session is active while a subagent works in the
    background, too.
    """
    times = (session.ended_at or session.started_at, session.subagent_active_at)
    last_entry_at = max(filter(None, times), default=None)
    is_quiet = last_entry_at is None or now - last_entry_at > STOPPED_AFTER
    if session.is_stopped or (is_quiet and not session.is_live):
        return "stopped"
    is_idle = session.has_turn_ended and session.subagent_active_at is None
    return "idle" if is_idle else "active"


class Waiting(NamedTuple):
    """What a session waits for, and since when."""

    kind: WaitingFor | None = None
    since_us: int = 0


def decide_waiting(
    stored: Waiting,
    last_entry_us: int,
    activity: Activity | None,
    question: WaitingFor | None,
    *,
    is_stopped: bool,
) -> Waiting:
    """Return what a session waits for now.

    `stored` is what it waited for before, and ends when the log goes on. `activity` is
    what a process or hook reports, and `question` what the last entry of the log asks.
    """
    if is_stopped:
        return Waiting()
    waiting = stored if last_entry_us <= stored.since_us else Waiting()
    if activity and activity.state in ("busy", "idle"):
        # After an approval, a command may run for long before the log goes on.
        has_ended = activity.since_us > waiting.since_us
        is_at_prompt = activity.state == "idle" and waiting.kind == "prompt"
        return Waiting() if has_ended and not is_at_prompt else waiting
    if activity and activity.since_us >= last_entry_us:
        if activity.state == waiting.kind:
            return waiting
        return Waiting(cast("WaitingFor", activity.state), activity.since_us)
    if question and not waiting.kind:
        return Waiting(question, last_entry_us)
    return waiting


def compute_stop_cutoff_us(now: datetime) -> int:
    """Return the cutoff: a session whose last entry is earlier has stopped.

    The time is in microseconds since 1970.
    """
    return to_us(now - STOPPED_AFTER)


def find_settle_time(
    session: SessionSummary,
    unit: int,
    now: datetime,
    settle_after: timedelta = SETTLE_AFTER,
) -> datetime | None:
    """Return when a unit can be settled if no entry comes until then.

    It can be settled now if the next prompt came or the session stopped, else when its
    turn ended and no entry came for `settle_after`. Return None during a turn.
    """
    if unit < session.units or compute_status(session, now) == "stopped":
        return now
    if not session.has_turn_ended:
        return None
    return session.seen_at + settle_after if session.seen_at else now


def compute_settle_delay(
    entries: Sequence[PlacedRecord], announced_at: datetime
) -> timedelta:
    """Return how long a unit must be quiet after a hook announced that its turn ends.

    The announcement is void if the agent went on afterwards. If the log has the end of
    the turn, too, all hooks have run and none of them made the agent continue.
    """
    is_end_logged = False
    for record in (placed.record for placed in reversed(entries)):
        if is_in_turn(record):
            if record.created_at is None or record.created_at > announced_at:
                return SETTLE_AFTER
            return timedelta() if is_end_logged else SETTLE_AFTER_ANNOUNCEMENT
        is_end_logged |= record.metadata.get("kind") == "turn_ended"
    return SETTLE_AFTER
