"""When messages are sent: by weekday and hour of the local time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leslied.queries.usage.scope import open_usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.queries.context import QueryContext
    from leslied.queries.usage.scope import UsageScope

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = 24
_WEEKDAY_OF_1970 = 3
"""The first day of 1970 was a Thursday."""


class HourlyActivity(Struct, frozen=True):
    """Number of messages in each hour of the week."""

    zone: str
    """Name of the time zone and its offset from UTC today."""
    messages: tuple[tuple[int, ...], ...]
    """One row of 24 hours for each weekday, Monday first."""
    undated_messages: int
    """Messages without a time, which are not counted in any hour."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "zone": self.zone,
            "messages": self.messages,
            "undated_messages": self.undated_messages,
        }

    def iter_rows(self) -> Iterator[tuple[str, int, int]]:
        """Yield weekday, hour and messages, for CSV."""
        for weekday, counts in zip(WEEKDAYS, self.messages, strict=True):
            for hour, count in enumerate(counts):
                yield weekday, hour, count


def load_hours(context: QueryContext, scope: UsageScope) -> HourlyActivity:
    """Return the number of messages in each hour of the week."""
    counts = [[0] * _HOURS for _ in WEEKDAYS]
    undated_messages = 0
    for bucket in open_usage(context, scope).list_buckets(
        "hour", scope.select(context), with_sessions=False
    ):
        if not isinstance(bucket.key, int):
            undated_messages += bucket.messages
            continue
        day, hour = divmod(bucket.key, _HOURS)
        counts[(day + _WEEKDAY_OF_1970) % len(WEEKDAYS)][hour] += bucket.messages
    zone = _format_zone(context.now.astimezone(scope.zone))
    return HourlyActivity(zone, tuple(map(tuple, counts)), undated_messages)


def _format_zone(now: datetime) -> str:
    """Return the name of a time's zone, and its offset if the name does not tell it."""
    offset = f"UTC{now:%z}".removesuffix("00") if now.utcoffset() else "UTC"
    name = now.tzname() or offset
    return name if name.startswith("UTC") else f"{name}, {offset}"
