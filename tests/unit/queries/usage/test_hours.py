"""Messages by weekday and hour, in local time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from leslied.model.query import Filter
from leslied.model.record import Usage
from leslied.queries.usage.hours import load_hours
from leslied.queries.usage.scope import UsageScope
from tests.support.records import make_key
from tests.support.usage import make_folder_event, make_message

BERLIN = ZoneInfo("Europe/Berlin")
SUNDAY_NIGHT = datetime(2026, 7, 5, 22, 30, tzinfo=UTC)


def test_hours_are_those_of_the_zone(commit):
    context = commit(make_message("a", SUNDAY_NIGHT, Usage(1)))

    in_utc = load_hours(context, UsageScope(zone=UTC)).messages
    in_berlin = load_hours(context, UsageScope(zone=BERLIN)).messages

    assert in_utc[6][22] == 1
    assert in_berlin[0][0] == 1  # Monday, half past midnight, in summer time


def test_messages_of_the_same_hour_add_up_over_weeks(commit):
    context = commit(
        make_message("a", SUNDAY_NIGHT, Usage(1)),
        make_message("b", SUNDAY_NIGHT + timedelta(days=7), Usage(1)),
        make_message("c", None, Usage(1)),
    )

    hours = load_hours(context, UsageScope(zone=UTC))

    assert hours.messages[6][22] == 2
    assert sum(map(sum, hours.messages)) == 2
    assert hours.undated_messages == 1


def test_only_the_messages_of_the_project_count(commit):
    context = commit(
        make_folder_event("/home/dev/app", "one"),
        make_message("a", SUNDAY_NIGHT, Usage(1), session=make_key("one")),
        make_message("b", SUNDAY_NIGHT, Usage(1), session=make_key("two")),
    )

    scope = UsageScope(zone=UTC, filters=(Filter("project", "/home/dev/app"),))

    assert sum(map(sum, load_hours(context, scope).messages)) == 1


def test_the_zone_is_named_with_its_offset(commit):
    context = commit()
    india = timezone(timedelta(hours=5, minutes=30), "IST")

    zones = [
        load_hours(context, UsageScope(zone=zone)).zone for zone in (UTC, BERLIN, india)
    ]

    assert zones == ["UTC", "CET, UTC+01", "IST, UTC+0530"]


def test_there_is_a_row_for_every_hour_of_the_week(commit):
    hours = load_hours(commit(), UsageScope(zone=UTC))

    rows = list(hours.iter_rows())

    assert (len(rows), rows[0], rows[-1]) == (168, ("Mon", 0, 0), ("Sun", 23, 0))
    assert len(hours.to_dict()["messages"]) == 7
