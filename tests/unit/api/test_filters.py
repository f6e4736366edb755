"""What scripts ask of sessions is what the list's options ask."""

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


def build_filters(**asked: Any) -> tuple[Filter, ...]:
    known = {"agent": "", "project": "", "since": None, "until": None}
    return tuple(make_filters(**{**known, **asked}))


@pytest.mark.parametrize(
    "asked",
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
def test_the_options_of_the_list_mean_the_same(
    asked: dict[str, str],
    tmp_path: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("HOME", str(tmp_path))
    app: Any = SimpleNamespace(clock=clock, home=tmp_path)

    listed = parse_filters(app, dict.fromkeys(OPTIONS) | asked)

    assert build_filters(**asked) == listed


def test_days_and_times_are_taken_as_python_has_them():
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
    "given",
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
def test_a_time_beyond_the_calendar_is_refused(name: str, given: Any):
    with pytest.raises(UserError, match=r"The year \d+ is out of range") as raised:
        build_filters(**{name: given})

    assert raised.value.hint


@pytest.mark.parametrize(
    "given", ["0002-01-01", "9998-12-31", "9998-12-31T23:59-23:59"]
)
def test_the_farthest_times_are_understood(given: str):
    assert len(build_filters(since=given, until=given)) == 2


@pytest.mark.parametrize("given", ["soon", "2026-02-30", "2026-01-31T25:00", "7"])
def test_a_day_that_is_none_is_refused(given: str):
    with pytest.raises(UserError, match=f"'{given}' is no day or time"):
        build_filters(since=given)
