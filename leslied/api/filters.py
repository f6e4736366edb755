"""Conversion of the arguments of `Store.sessions` to filters of the store."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.model.query import Filter
from leslied.model.times import to_us
from leslied.paths import get_home, read_environ
from leslied.queries.projects import resolve_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    TimeArgument = datetime | date | str


def make_filters(
    agent: str, project: str, since: TimeArgument | None, until: TimeArgument | None
) -> Iterator[Filter]:
    """Yield a filter for each argument that is not None or empty."""
    if agent:
        yield Filter("agent", agent)
    if project:
        yield Filter("project", resolve_project(project, get_home(read_environ())))
    if since:
        yield Filter("after", _to_microseconds(since))
    if until:
        yield Filter("before", _to_microseconds(until, is_end=True))


def _to_microseconds(value: TimeArgument, *, is_end: bool = False) -> int:
    """Return microseconds since 1970.

    A date means the start of the day or, if `is_end`, its end. Without a zone the time
    is local. Raise UserError if the text is not a time or the year is out of range.
    """
    time = _parse_time(value) if isinstance(value, str) else value
    if not MINYEAR < time.year < MAXYEAR:
        raise UserError(
            f"The year {time.year} is out of range.",
            "Omit the argument if there is no limit.",
        )
    if not isinstance(time, datetime):
        day = time + timedelta(days=1) if is_end else time
        time = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - local time
    aware = time if time.tzinfo else time.astimezone()
    return to_us(aware)


def _parse_time(text: str) -> datetime | date:
    """Return a date if the text has no time of day; raise UserError if invalid."""
    for time_type in (date, datetime):
        try:
            return time_type.fromisoformat(text)
        except ValueError:
            continue
    raise UserError(f"{text!r} is not a date or time.", "Write 2026-01-31T15:00.")
