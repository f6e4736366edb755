"""Conversion of times to local days, across changes of the UTC offset."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_STEP_SECONDS = 7 * 86400
_MAX_SECOND = 253_402_214_400
"""One day before the last second of a datetime, so that any zone can represent it."""


def find_offsets(
    first_us: int, last_us: int, zone: tzinfo | None
) -> tuple[tuple[int, int], ...]:
    """Return the UTC offsets between two times, each with the time of its start.

    All values are in microseconds.
    """
    first, last = (_clamp(us // 1_000_000) for us in (first_us, last_us))
    offsets = [(first_us, _get_offset(first, zone))]
    for start in range(first, last + _STEP_SECONDS, _STEP_SECONDS):
        end = _clamp(start + _STEP_SECONDS)
        if _get_offset(end, zone) != offsets[-1][1]:
            offsets.append(_find_change(start, end, zone))
    return tuple((at, offset * 1_000_000) for at, offset in offsets)


def format_day(number: int) -> str | None:
    """Return the ISO date so many days after 1970-01-01, or None if out of range."""
    try:
        return (_FIRST_DAY + timedelta(days=number)).isoformat()
    except OverflowError:
        return None


def to_time(us: int | None) -> datetime | None:
    """Return the time in UTC, or None if there is none or it is out of range."""
    try:
        return None if us is None else _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None


def _find_change(start: int, end: int, zone: tzinfo | None) -> tuple[int, int]:
    """Return when, between two seconds, the later one's offset started, and it."""
    offset = _get_offset(end, zone)
    while end - start > 1:
        middle = (start + end) // 2
        if _get_offset(middle, zone) == offset:
            end = middle
        else:
            start = middle
    return end * 1_000_000, offset


def _get_offset(second: int, zone: tzinfo | None) -> int:
    shift = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return int(shift.total_seconds()) if shift else 0


def _clamp(second: int) -> int:
    return min(max(second, 0), _MAX_SECOND)
