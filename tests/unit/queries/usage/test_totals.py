"""Sums of usage and cost are correct in every grouping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from leslied.model.record import Record, Usage
from leslied.model.stats import UsageSummary
from leslied.prices import load_prices
from leslied.queries.sessions import list_sessions
from leslied.queries.usage.totals import SumOrder, UsageSelection, UsageStats
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_record,
    time_at,
)
from tests.support.work import count_calls

OPUS = "claude-opus-4-5-20251101"
SONNET = "claude-sonnet-4-5-20250929"
GROUPS = ("day", "week", "month", "model", "project", "agent", "session")


@pytest.fixture
def harness(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as harness:
        yield harness


def make_message(
    name: str, usage: Usage, when: datetime | None = None, **fields
) -> Record:
    defaults = {"message_id": name, "model": OPUS, "usage": usage}
    return make_record(
        name, name, **{**defaults, "created_at": when or time_at(0), **fields}
    )


def make_cwd_event(folder: str, name: str = "s") -> Record:
    key = make_key(name)
    return make_event("context", f"cwd-{name}", session=key, metadata={"cwd": folder})


@pytest.fixture
def sum_groups(
    harness: StoreHarness,
) -> Callable[..., tuple[list[UsageSummary], UsageSummary]]:
    """Return a function that sums usage by group; it returns groups and the total."""

    def sum_groups(by: str = "day", zone=UTC, **filters):
        with harness.reader() as reader:
            stats = UsageStats(reader.usage, load_prices(), zone)
            return stats.sum_groups(by, UsageSelection(**filters))

    return sum_groups


def test_a_day_sums_its_messages_and_their_cost(harness: StoreHarness, sum_groups):
    harness.commit(
        make_message("a", Usage(1_000_000)),
        make_message("b", Usage(0, 1_000_000), time_at(60)),
    )

    ((day,), total) = sum_groups()

    assert (day.key, day.messages, day.sessions) == ("2026-11-16", 2, 1)
    assert day.usage == Usage(1_000_000, 1_000_000)
    assert day.cost.usd == 5 + 25
    assert (total.usage, total.cost) == (day.usage, day.cost)


def test_days_are_local_across_a_clock_change(harness: StoreHarness, sum_groups):
    berlin = ZoneInfo("Europe/Berlin")
    late = datetime(2026, 10, 24, 23, 30, tzinfo=berlin)  # summer, UTC+2
    early = datetime(2026, 10, 26, 0, 30, tzinfo=berlin)  # winter, UTC+1
    harness.commit(
        make_message("a", Usage(1), late), make_message("b", Usage(2), early)
    )

    sums, _ = sum_groups(zone=berlin)

    assert [(s.key, s.usage.input_tokens) for s in sums] == [
        ("2026-10-24", 1),
        ("2026-10-26", 2),
    ]


def test_a_week_starts_on_monday(harness: StoreHarness, sum_groups):
    sunday = datetime(2026, 11, 15, 23, 59, tzinfo=UTC)
    harness.commit(
        make_message("a", Usage(1), sunday), make_message("b", Usage(2), time_at(0))
    )

    sums, _ = sum_groups("week")

    assert [s.key for s in sums] == ["2026-11-09", "2026-11-16"]


def test_messages_without_a_time_are_in_a_group_without_a_key(
    harness: StoreHarness, sum_groups
):
    harness.commit(
        make_message("a", Usage(7), created_at=None), make_message("b", Usage(1))
    )

    sums, total = sum_groups()

    assert [s.key for s in sums] == [None, "2026-11-16"]
    assert total.usage == Usage(8)


def test_a_subagent_counts_for_its_session(harness: StoreHarness, sum_groups):
    child = make_key(source="subagent:x")
    harness.commit(
        make_message("a", Usage(1)), make_message("b", Usage(2), session=child)
    )

    ((session,), _) = sum_groups("session")

    assert (session.key, session.usage, session.sessions) == ("s", Usage(3), 1)


def test_a_message_that_forks_share_counts_once(harness: StoreHarness, sum_groups):
    shared = make_message("a", Usage(5), session=make_key("one"))
    harness.commit(shared, log="one.jsonl")
    copy = make_message("a", Usage(5), session=make_key("two"))
    second_message = make_message("b", Usage(1), time_at(9), session=make_key("two"))
    harness.commit(copy, second_message, log="two.jsonl")

    for by in GROUPS:
        sums, total = sum_groups(by)
        assert sum(s.usage.input_tokens for s in sums) == 6, by
        assert total.usage == Usage(6), by


def test_every_grouping_has_the_same_total(harness: StoreHarness, sum_groups):
    for n in range(1, 41):
        when = time_at(n * 40_000)
        model = (OPUS, SONNET, "mock-model")[n % 3]
        usage = Usage(n * 9_000, n, n * 100, n * 7, n)
        key = make_key(f"s{n % 4}", "main" if n % 5 else "subagent:x")
        harness.commit(
            make_message(f"{n}", usage, when, model=model, session=key),
            log=f"{n}.jsonl",
        )

    results = {by: sum_groups(by) for by in GROUPS}

    _, day_total = results["day"]
    for by, (sums, total) in results.items():
        assert total.cost == day_total.cost, by
        assert sum(s.cost.pico for s in sums) == day_total.cost.pico, by
        assert sum(s.messages for s in sums) == 40, by
        assert total.sessions == 4, by


def test_the_cost_of_sessions_equals_the_cost_of_days(
    harness: StoreHarness, sum_groups
):
    child = make_key(source="subagent:x")
    harness.commit(
        make_message("a", Usage(900)),
        make_message("b", Usage(70), session=child, model=SONNET),
    )
    with harness.reader() as reader:
        (session,) = list_sessions(reader, with_costs=True)

    assert session.cost == sum_groups()[1].cost


def test_a_session_on_two_days_counts_once_in_the_total(
    harness: StoreHarness, sum_groups
):
    harness.commit(
        make_message("a", Usage(1)), make_message("b", Usage(1), time_at(100_000))
    )

    sums, total = sum_groups()

    assert [s.sessions for s in sums] == [1, 1]
    assert total.sessions == 1


def test_a_message_without_a_price_is_counted_without_a_cost(
    harness: StoreHarness, sum_groups
):
    harness.commit(make_message("a", Usage(10), model="mock-model"))

    ((day,), _) = sum_groups()

    assert day.usage == Usage(10)
    assert day.cost.usd is None
    assert day.cost.unpriced == 1


def test_each_request_is_priced_by_its_own_size(harness: StoreHarness, sum_groups):
    small, large = Usage(150_000), Usage(250_000)
    harness.commit(
        make_message("a", small, model=SONNET), make_message("b", large, model=SONNET)
    )

    assert sum_groups()[1].cost.usd == 0.15 * 3 + 0.25 * 6


def test_the_usage_of_many_requests_is_not_priced_as_one_large_request(
    harness: StoreHarness, sum_groups
):
    metadata = {"is_sum": True}
    harness.commit(make_message("a", Usage(1_000_000), model=SONNET, metadata=metadata))

    assert sum_groups()[1].cost.usd == 3


def test_a_price_applies_from_its_start_date(harness: StoreHarness, sum_groups):
    change = datetime(2026, 3, 13, tzinfo=UTC)
    before = change - timedelta(seconds=1)
    model, usage = "claude-opus-4-6", Usage(250_000)
    harness.commit(
        make_message("a", usage, before, model=model),
        make_message("b", usage, change, model=model),
    )
    tariff = load_prices().find_tariff(model)

    sums, _ = sum_groups()

    costs = [s.cost.pico for s in sums]
    assert tariff is not None
    assert costs[0] > costs[1]


def test_only_selected_messages_count(harness: StoreHarness, sum_groups):
    one, two = make_key("one"), make_key("two")
    harness.commit(
        make_cwd_event("/src/app", "one"),
        make_message("a", Usage(1), session=one),
        log="1.jsonl",
    )
    harness.commit(
        make_cwd_event("/src/lib", "two"),
        make_message("b", Usage(2), session=two),
        log="2.jsonl",
    )

    # A session is selected by its agent and its id.
    sums, total = sum_groups("project", sessions=frozenset({two[:2]}))

    assert [(s.key, s.usage) for s in sums] == [("/src/lib", Usage(2))]
    assert (total.usage, total.sessions) == (Usage(2), 1)
    assert sum_groups(agent="codex") == ([], UsageSummary(key=None))
    after_all_us = int(time_at(1).timestamp() * 1_000_000)
    assert sum_groups(since_us=after_all_us)[1].usage == Usage()
    assert sum_groups(until_us=after_all_us)[1].usage == Usage(3)


def test_blocks_start_at_the_hour_and_last_five_hours(harness: StoreHarness):
    hours = (0.5, 4, 5.2, 11)
    harness.commit(*(make_message(f"{h}", Usage(1), time_at(h * 3600)) for h in hours))

    with harness.reader() as reader:
        blocks, total = UsageStats(reader.usage, load_prices()).sum_blocks(
            UsageSelection()
        )

    assert [(b.start.hour, b.summary.messages) for b in blocks] == [
        (10, 2),
        (15, 1),
        (21, 1),
    ]
    assert total.messages == 4


def test_a_block_is_active_until_it_ends(harness: StoreHarness):
    harness.commit(
        make_message("a", Usage(1)), make_message("b", Usage(99), time_at(1800))
    )
    with harness.reader() as reader:
        ((block,), _) = UsageStats(reader.usage, load_prices()).sum_blocks(
            UsageSelection()
        )

    assert block.is_active(time_at(3600))
    assert not block.is_active(time_at(5 * 3600))
    assert block.per_hour(block.summary.tokens) == 200


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("cost", ["dear", "large", "long"]),
        ("tokens", ["large", "dear", "long"]),
        ("duration", ["long", "dear", "large"]),
    ],
)
def test_sessions_are_sorted_by_what_was_asked(
    harness: StoreHarness, order: SumOrder, expected: list[str]
):
    harness.commit(
        make_message("a", Usage(0, 100), session=make_key("dear")),
        make_message("b", Usage(0, 0, 900), session=make_key("large")),
        make_message("c", Usage(1), session=make_key("long")),
        make_message("d", Usage(1), time_at(60), session=make_key("long")),
    )
    with harness.reader() as reader:
        stats = UsageStats(reader.usage, load_prices(), UTC)
        sums, _ = stats.sum_groups("session", UsageSelection(), order)

    assert [each.key for each in sums] == expected


def test_counting_the_sessions_of_a_day_calls_no_function_for_each(
    harness: StoreHarness, sum_groups
):
    names = [f"m{number}" for number in range(200)]
    harness.commit(
        *(make_message(name, Usage(1), session=make_key(name)) for name in names)
    )
    sum_groups()

    with count_calls() as calls:
        ((day,), total) = sum_groups()

    assert (day.sessions, total.sessions) == (200, 200)
    assert calls["__new__"] < 100
    assert calls["_add_session"] == 0
