"""Days as people count them: in local time, whatever the clocks did meanwhile."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_STEP_SECONDS = 7 * 86400
_MAX_SECOND = 253_402_214_400
"""The last second a datetime can be asked about, a day before its end."""


def find_offsets(
    first_us: int, last_us: int, zone: tzinfo | None
) -> tuple[tuple[int, int], ...]:
    """The distances from UTC between two times, each with the moment it begins."""
    first, last = (_clamp(us // 1_000_000) for us in (first_us, last_us))
    found = [(first_us, _offset(first, zone))]
    for start in range(first, last + _STEP_SECONDS, _STEP_SECONDS):
        end = _clamp(start + _STEP_SECONDS)
        if _offset(end, zone) != found[-1][1]:
            found.append(_find_change(start, end, zone))
    return tuple((at, offset * 1_000_000) for at, offset in found)


def format_day(number: int) -> str | None:
    """The day so many days after the first one of 1970."""
    try:
        return (_FIRST_DAY + timedelta(days=number)).isoformat()
    except OverflowError:
        return None


def to_time(us: int | None) -> datetime | None:
    """The time, where there is one that a calendar knows."""
    try:
        return None if us is None else _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None


def _find_change(start: int, end: int, zone: tzinfo | None) -> tuple[int, int]:
    """When between two seconds the offset became what it is at the second one."""
    offset = _offset(end, zone)
    while end - start > 1:
        middle = (start + end) // 2
        if _offset(middle, zone) == offset:
            end = middle
        else:
            start = middle
    return end * 1_000_000, offset


def _offset(second: int, zone: tzinfo | None) -> int:
    shift = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return int(shift.total_seconds()) if shift else 0


def _clamp(second: int) -> int:
    return min(max(second, 0), _MAX_SECOND)
