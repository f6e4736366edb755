"""Conversion of times to and from microseconds and nanoseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(time: datetime) -> int:
    """Return the time as microseconds since 1970."""
    return (time - EPOCH) // _MICROSECOND


def from_us(value: int, utc_offset: int = 0) -> datetime:
    """Convert microseconds since 1970 to a time with a UTC offset in minutes.

    If Python cannot represent the local time, return the time in UTC; if it cannot
    represent that either, return the epoch.
    """
    time = EPOCH
    try:
        time += timedelta(microseconds=value)
        # Most times are in UTC, and every record has one or two of them.
        if not utc_offset:
            return time
        return time.astimezone(timezone(timedelta(minutes=utc_offset)))
    except OverflowError:
        return time


def to_ns(time: datetime) -> int:
    """Return the time as nanoseconds since 1970."""
    return to_us(time) * 1000


def from_ns(value: int) -> datetime:
    """Convert nanoseconds since 1970 to a time in UTC, rounded to a microsecond."""
    return datetime.fromtimestamp(value / 1e9, UTC)
