"""Usage over time: periods without gaps, and one series for each large group."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from leslied.model.record import Usage
from leslied.model.times import to_us
from leslied.queries.usage.scope import UsageScope
from leslied.queries.usage.timeline import MAX_NAMED_SERIES, MAX_PERIODS, load_timeline
from tests.support.records import make_key, time_at
from tests.support.usage import (
    OPUS,
    SECRET,
    SONNET,
    make_folder_event,
    make_message,
)

SCOPE = UsageScope(zone=UTC)
TODAY = time_at(0)


def days_ago(days: int) -> datetime:
    return TODAY - timedelta(days=days)


def test_days_without_messages_are_periods_too(commit):
    context = commit(
        make_message("a", days_ago(2), Usage(1_000_000)),
        make_message("b", days_ago(0), Usage(2_000_000)),
    )

    timeline = load_timeline(context, SCOPE)

    assert timeline.period == "day"
    assert timeline.periods == ("2026-11-14", "2026-11-15", "2026-11-16")
    (series,) = timeline.series
    assert (series.key, series.cost_usd) == (OPUS, (5.0, 0.0, 10.0))
    assert (series.tokens, series.messages) == ((1_000_000, 0, 2_000_000), (1, 0, 1))


@pytest.mark.parametrize(
    ("days", "period", "first"),
    [
        (91, "day", "2026-08-17"),
        (92, "week", "2026-08-10"),
        (731, "week", "2024-11-11"),
        (732, "month", "2024-11"),
    ],
)
def test_the_period_fits_the_range(commit, days: int, period: str, first: str):
    context = commit(
        make_message("a", days_ago(days), Usage(1)),
        make_message("b", days_ago(0), Usage(1)),
    )

    timeline = load_timeline(context, SCOPE)

    assert (timeline.period, timeline.periods[0]) == (period, first)
    assert sum(timeline.series[0].messages) == 2


def test_a_range_that_starts_at_a_day_ends_today(commit):
    context = commit(make_message("a", days_ago(1), Usage(1)))

    scope = UsageScope(zone=UTC, since_us=to_us(days_ago(3)))
    periods = load_timeline(context, scope).periods

    assert (periods[0], periods[-1]) == ("2026-11-13", "2026-11-16")


def test_a_range_ends_before_its_upper_bound(commit):
    context = commit(
        make_message("a", days_ago(5), Usage(1)),
        make_message("b", days_ago(0), Usage(1)),
    )

    until = datetime(2026, 11, 14, tzinfo=UTC)
    periods = load_timeline(context, UsageScope(zone=UTC, until_us=to_us(until)))

    assert periods.periods[-1] == "2026-11-13"


def test_messages_without_a_plausible_time_belong_to_no_period(commit):
    context = commit(
        make_message("a", None, Usage(1)),
        make_message("b", datetime(9000, 1, 1, tzinfo=UTC), Usage(1)),
        make_message("c", days_ago(0), Usage(1)),
    )

    timeline = load_timeline(context, SCOPE)

    assert timeline.periods == ("2026-11-16",)
    assert timeline.outside_messages == 2


def test_only_the_latest_periods_are_shown(commit):
    context = commit(
        make_message("a", days_ago(MAX_PERIODS), Usage(1)),
        make_message("b", days_ago(0), Usage(1)),
    )

    timeline = load_timeline(context, SCOPE, period="day")

    assert len(timeline.periods) == MAX_PERIODS
    assert timeline.outside_messages == 1


def test_small_groups_share_a_series(commit):
    context = commit(
        *(
            make_message(f"m{n}", days_ago(0), Usage(n), model=f"model-{n}")
            for n in range(1, MAX_NAMED_SERIES + 3)
        )
    )

    timeline = load_timeline(context, SCOPE)

    *named, rest = timeline.series
    assert [series.key for series in named] == [f"model-{n}" for n in range(9, 2, -1)]
    assert (rest.key, rest.is_rest, rest.tokens) == (None, True, (1 + 2,))
    assert timeline.unpriced_messages == MAX_NAMED_SERIES + 2


def test_projects_have_series_without_secrets(commit):
    context = commit(
        make_folder_event(f"/home/{SECRET}", "one"),
        make_message("a", days_ago(0), Usage(1), session=make_key("one")),
        make_message("b", days_ago(0), Usage(2), session=make_key("two")),
    )

    timeline = load_timeline(context, SCOPE, "project")

    assert [series.key for series in timeline.series] == [None, "/home/[secret]"]


def test_agents_have_series(commit):
    context = commit(make_message("a", days_ago(0), Usage(1)))

    assert load_timeline(context, SCOPE, "agent").series[0].key == "claude-code"


def test_an_empty_store_has_no_periods(commit):
    timeline = load_timeline(commit(), SCOPE)

    assert (timeline.periods, timeline.series) == ((), ())


def test_rows_name_period_and_group(commit):
    context = commit(
        make_message("a", days_ago(0), Usage(1_000_000)),
        make_message("b", days_ago(0), Usage(1), model=SONNET),
    )

    rows = list(load_timeline(context, SCOPE).iter_rows())

    assert rows[0] == ("2026-11-16", OPUS, 5.0, 1_000_000, 1)
    assert [row[1] for row in rows] == [OPUS, SONNET]


def test_the_json_form_has_plain_series(commit):
    context = commit(make_message("a", days_ago(0), Usage(1)))

    data = load_timeline(context, SCOPE).to_dict()

    assert data["series"][0]["tokens"] == (1,)
    assert set(data) >= {"period", "periods", "split", "outside_messages"}
