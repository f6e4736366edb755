"""Tests of parsing days and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from leslied.errors import UserError
from leslied.queries.time_args import parse_time_arg

NOW = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)
DAY = datetime(2026, 11, 16, tzinfo=UTC)


def to_microseconds(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-11-01", DAY - timedelta(days=15), DAY - timedelta(days=14)),
        ("20261101", DAY - timedelta(days=15), DAY - timedelta(days=14)),
        ("today", DAY, DAY + timedelta(days=1)),
        ("Yesterday", DAY - timedelta(days=1), DAY),
        ("7d", NOW - timedelta(days=7), NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12), NOW - timedelta(hours=12)),
        ("2026-11-16T09:00", DAY.replace(hour=9), DAY.replace(hour=9)),
        ("2026-11-16T09:00+02:00", DAY.replace(hour=7), DAY.replace(hour=7)),
    ],
)
def test_a_day_means_its_start_or_its_end_and_a_time_itself(
    text: str, start: datetime, end: datetime
):
    assert parse_time_arg(text, NOW, UTC) == to_microseconds(start)
    assert parse_time_arg(text, NOW, UTC, is_end=True) == to_microseconds(end)


def test_a_day_has_the_utc_offset_of_that_day():
    berlin = ZoneInfo("Europe/Berlin")

    start = parse_time_arg("2026-07-01", NOW, berlin)

    assert start == to_microseconds(datetime(2026, 6, 30, 22, tzinfo=UTC))


@pytest.mark.parametrize(
    "text", ["soon", "", "2026-13-01", "-1d", "9" * 30, "٣d", "9999-12-31"]
)
def test_other_text_is_not_a_time(text: str):
    with pytest.raises(UserError, match="is not a date or time"):
        parse_time_arg(text, NOW, UTC, is_end=True)
