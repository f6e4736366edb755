"""Conversion of times to numbers and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leslied.model.times import EPOCH, from_ns, from_us, to_ns, to_us

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)  # noqa: DTZ001


@pytest.mark.fault("F2")
@given(TIMES)
def test_a_time_is_restored_with_its_utc_offset(time: datetime):
    minutes = int(time.utcoffset().total_seconds() // 60)

    restored = from_us(to_us(time), minutes)

    assert (restored, restored.utcoffset()) == (time, time.utcoffset())


@pytest.mark.fault("F1")
@pytest.mark.parametrize("time", [datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)])
def test_times_before_the_epoch_are_exact(time: datetime):
    assert from_us(to_us(time)) == time


def test_a_time_of_another_zone_counts_from_the_same_epoch():
    zone = timezone(timedelta(hours=2))

    assert to_us(datetime(1970, 1, 1, 2, 0, 0, 1, tzinfo=zone)) == 1


@pytest.mark.parametrize("value", [10**18, -(10**18), 10**30])
def test_a_time_that_python_cannot_represent_is_the_epoch(value: int):
    assert from_us(value) == EPOCH


def test_a_time_is_returned_in_utc_if_its_offset_would_overflow():
    last = datetime.max.replace(tzinfo=UTC)

    assert from_us(to_us(last), utc_offset=60) == last


def test_nanoseconds_have_the_precision_of_a_datetime():
    time = datetime(2026, 11, 16, 12, 0, 0, 123_457, tzinfo=UTC)

    assert to_ns(time) % 10**9 == 123_457_000
    assert from_ns(to_ns(time)) == time
