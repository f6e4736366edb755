"""Conversion of times to local days, across changes of the UTC offset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from leslied.model.times import EPOCH

_STEP_SECONDS = 7 * 86400
"""Seconds between two lookups; an offset that lasts less may be missed."""
_MAX_SECOND = 253_402_214_400
"""9999-12-31 in UTC: the last midnight that a datetime can represent in every zone."""


def find_offsets(
    first_us: int, last_us: int, zone: tzinfo | None
) -> tuple[tuple[int, int], ...]:
    """Return the UTC offsets between two times as pairs (start, offset).

    All values are in microseconds. A `zone` of None is the local one.
    """
    first_second = _clamp(first_us // 1_000_000)
    last_second = _clamp(last_us // 1_000_000)
    offsets = [(first_us, _get_offset(first_second, zone))]
    for start in range(first_second, last_second + _STEP_SECONDS, _STEP_SECONDS):
        end = _clamp(start + _STEP_SECONDS)
        if _get_offset(end, zone) != offsets[-1][1]:
            offsets.append(_find_change(start, end, zone))
    return tuple((start_us, offset * 1_000_000) for start_us, offset in offsets)


def format_day(number: int) -> str | None:
    """Return the ISO date `number` days after 1970-01-01, None if out of range."""
    try:
        return (EPOCH.date() + timedelta(days=number)).isoformat()
    except OverflowError:
        return None


def to_time(us: int | None) -> datetime | None:
    """Convert microseconds since 1970 to UTC; return None for None or out of range."""
    try:
        return None if us is None else EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None


def _find_change(start: int, end: int, zone: tzinfo | None) -> tuple[int, int]:
    """Return when the offset at `end` starts, in microseconds, and this offset.

    `start`, `end` and the offset are in seconds; `start` has a different offset.
    """
    offset = _get_offset(end, zone)
    while end - start > 1:
        middle = (start + end) // 2
        if _get_offset(middle, zone) == offset:
            end = middle
        else:
            start = middle
    return end * 1_000_000, offset


def _get_offset(second: int, zone: tzinfo | None) -> int:
    """Return the UTC offset at a time, both in seconds."""
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset else 0


def _clamp(second: int) -> int:
    """Limit a time in seconds since 1970 to the range from 0 to `_MAX_SECOND`."""
    return min(max(second, 0), _MAX_SECOND)
