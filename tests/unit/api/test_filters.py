"""The arguments of `Store.sessions` mean the same as the options of `leslied list`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leslied.api.filters import make_filters
from leslied.cli.filters import parse_filters
from leslied.errors import UserError
from leslied.model.query import Filter
from tests.support.clock import FakeClock

OPTIONS = ("agent", "project", "model", "status", "since", "until")
EAST = timezone(timedelta(hours=14))


def build_filters(**arguments: Any) -> tuple[Filter, ...]:
    defaults = {"agent": "", "project": "", "since": None, "until": None}
    return tuple(make_filters(**{**defaults, **arguments}))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"agent": "codex"},
        {"project": "app"},
        {"project": "/home/dev/"},
        {"project": "src/app"},
        {"project": "."},
        {"project": ".."},
        {"project": "~"},
        {"project": "~/app"},
        {"since": "2026-01-31", "until": "2026-01-31"},
        {"since": "20260131", "until": "20260131"},
        {"since": "2026-01-31T15:00", "until": "2026-01-31T15:00"},
        {"since": "2026-01-31T15:00+00:00", "until": "2026-01-31T15:00+02:00"},
    ],
)
def test_arguments_mean_the_same_as_options_of_leslied_list(
    arguments: dict[str, str],
    tmp_path: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("HOME", str(tmp_path))
    app: Any = SimpleNamespace(clock=clock, home=tmp_path)

    expected = parse_filters(app, dict.fromkeys(OPTIONS) | arguments)

    assert build_filters(**arguments) == expected


def test_dates_and_datetimes_are_accepted():
    day, noon = date(2026, 1, 31), datetime(2026, 1, 31, 12, tzinfo=UTC)

    assert build_filters(since=day, until=day) == build_filters(
        since="2026-01-31", until="2026-01-31"
    )
    assert build_filters(since=noon) == build_filters(since="2026-01-31T12:00Z")
    assert build_filters(until=noon) == build_filters(until="2026-01-31T13:00+01:00")
    assert build_filters(since=noon.replace(tzinfo=None)) == build_filters(
        since="2026-01-31T12:00"
    )


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(
    "value",
    [
        "9999-12-31",
        "9999-12-31T23:59-05:00",
        "0001-01-01",
        "0001-01-01T00:00+05:00",
        date.max,
        date.min,
        datetime(9999, 12, 31),  # noqa: DTZ001
        datetime(1, 1, 1),  # noqa: DTZ001
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=EAST),
    ],
)
def test_a_time_out_of_range_is_refused(name: str, value: Any):
    with pytest.raises(UserError, match=r"The year \d+ is out of range") as raised:
        build_filters(**{name: value})

    assert raised.value.hint


@pytest.mark.parametrize(
    "value", ["0002-01-01", "9998-12-31", "9998-12-31T23:59-23:59"]
)
def test_the_earliest_and_latest_times_are_accepted(value: str):
    assert len(build_filters(since=value, until=value)) == 2


@pytest.mark.parametrize("value", ["soon", "2026-02-30", "2026-01-31T25:00", "7"])
def test_an_invalid_time_is_refused(value: str):
    with pytest.raises(UserError, match=f"'{value}' is not a date or time"):
        build_filters(since=value)
