"""What scripts ask of sessions, as the list understands it."""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.model.query import Filter
from leslied.paths import get_home, read_environ, resolve_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    TimeArgument = datetime | date | str

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def make_filters(
    agent: str, project: str, since: TimeArgument | None, until: TimeArgument | None
) -> Iterator[Filter]:
    """The conditions among these; what is None or empty is none."""
    if agent:
        yield Filter("agent", agent)
    if project:
        yield Filter("project", resolve_project(project, get_home(read_environ())))
    if since:
        yield Filter("after", _to_microseconds(since))
    if until:
        yield Filter("before", _to_microseconds(until, is_end=True))


def _to_microseconds(value: TimeArgument, *, is_end: bool = False) -> int:
    """Microseconds since 1970; a day means its beginning or, as an end, all of it."""
    meant = _parse_time(value) if isinstance(value, str) else value
    if not MINYEAR < meant.year < MAXYEAR:
        raise UserError(
            f"The year {meant.year} is out of range.",
            "Where there is no limit, leave the time out.",
        )
    if not isinstance(meant, datetime):
        day = meant + timedelta(days=is_end)
        meant = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - local
    moment = meant if meant.tzinfo else meant.astimezone()
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _parse_time(text: str) -> datetime | date:
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    raise UserError(f"{text!r} is no day or time.", "Write it as 2026-01-31T15:00.")
