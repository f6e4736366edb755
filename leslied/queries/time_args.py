"""Parsing of the days and times that people type."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from leslied.errors import UserError
from leslied.model.times import to_us

_RELATIVE_TIME = re.compile(r"([0-9]{1,5}) ?(h|d|w)")
_DURATIONS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def parse_time_arg(
    text: str, now: datetime, zone: tzinfo | None, *, is_end: bool = False
) -> int:
    """Return microseconds since 1970; raise UserError if the text is not a time.

    A day means its start or, with `is_end`, its end. Days and times without an offset
    are in `zone`, or in local time if it is None.
    """
    try:
        return to_us(_resolve_time(text.strip(), now, zone, is_end=is_end))
    except (ValueError, OverflowError):
        raise UserError(
            f"{text!r} is not a date or time.",
            "Try: 2026-01-31, 2026-01-31T15:00, today, yesterday, 12h, 7d, 4w",
        ) from None


def _resolve_time(
    text: str, now: datetime, zone: tzinfo | None, *, is_end: bool
) -> datetime:
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    day = {"today": today, "yesterday": today - timedelta(days=1)}.get(text.lower())
    if relative_time := _RELATIVE_TIME.fullmatch(text.lower()):
        return now - int(relative_time[1]) * _DURATIONS[relative_time[2]]
    time = day or datetime.fromisoformat(text)
    # A text that is no longer than a date has no time of day.
    is_day = day is not None or len(text) <= len("2026-01-31")
    if is_end and is_day:
        time += timedelta(days=1)
    if day is not None or time.tzinfo is None:
        # Use the UTC offset of that day, which may differ from today's.
        time = time.replace(tzinfo=zone) if zone else _to_local(time)
    return time


def _to_local(time: datetime) -> datetime:
    """Return the same day and time of day in the local zone."""
    return time.replace(tzinfo=None).astimezone()
