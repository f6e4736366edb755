"""Sums over messages: true totals, however they are grouped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from leslied.lookup import list_sessions
from leslied.model.record import Record, Usage
from leslied.model.stats import UsageSummary
from leslied.prices import load_prices
from leslied.stats import UsageFilters, UsageStats
from tests.support.clock import FakeClock
from tests.support.records import (
    StoreHarness,
    make_event,
    make_key,
    make_record,
    time_at,
)

OPUS = "claude-opus-4-5-20251101"
SONNET = "claude-sonnet-4-5-20250929"
GROUPS = ("day", "week", "month", "model", "project", "agent", "session")


@pytest.fixture
def shelf(tmp_path: Path, clock: FakeClock) -> Iterator[StoreHarness]:
    with StoreHarness(tmp_path / "data" / "store.db", clock) as shelf:
        yield shelf


def make_message(
    name: str, usage: Usage, when: datetime | None = None, **fields
) -> Record:
    known = {"message_id": name, "model": OPUS, "usage": usage}
    return make_record(
        name, name, **{**known, "created_at": when or time_at(0), **fields}
    )


def make_cwd_event(folder: str, name: str = "s") -> Record:
    key = make_key(name)
    return make_event("context", f"cwd-{name}", session=key, metadata={"cwd": folder})


@pytest.fixture
def add_up(
    shelf: StoreHarness,
) -> Callable[..., tuple[list[UsageSummary], UsageSummary]]:
    def add_up(by: str = "day", zone=UTC, **filters):
        with shelf.reader() as reader:
            ledger = UsageStats(reader.usage, load_prices(), zone)
            return ledger.sum_groups(by, UsageFilters(**filters))

    return add_up


def test_a_day_sums_its_messages_and_their_cost(shelf: StoreHarness, add_up):
    shelf.commit(
        make_message("a", Usage(1_000_000)),
        make_message("b", Usage(0, 1_000_000), time_at(60)),
    )

    ((day,), total) = add_up()

    assert (day.key, day.messages, day.sessions) == ("2026-11-16", 2, 1)
    assert day.usage == Usage(1_000_000, 1_000_000)
    assert day.cost.usd == 5 + 25
    assert (total.usage, total.cost) == (day.usage, day.cost)


def test_a_day_is_a_local_one_also_when_the_clocks_change(shelf: StoreHarness, add_up):
    berlin = ZoneInfo("Europe/Berlin")
    late = datetime(2026, 10, 24, 23, 30, tzinfo=berlin)  # summer, UTC+2
    early = datetime(2026, 10, 26, 0, 30, tzinfo=berlin)  # winter, UTC+1
    shelf.commit(make_message("a", Usage(1), late), make_message("b", Usage(2), early))

    sums, _ = add_up(zone=berlin)

    assert [(s.key, s.usage.input_tokens) for s in sums] == [
        ("2026-10-24", 1),
        ("2026-10-26", 2),
    ]


def test_a_week_begins_on_monday(shelf: StoreHarness, add_up):
    sunday = datetime(2026, 11, 15, 23, 59, tzinfo=UTC)
    shelf.commit(
        make_message("a", Usage(1), sunday), make_message("b", Usage(2), time_at(0))
    )

    sums, _ = add_up("week")

    assert [s.key for s in sums] == ["2026-11-09", "2026-11-16"]


def test_messages_without_a_time_are_counted_under_none(shelf: StoreHarness, add_up):
    shelf.commit(
        make_message("a", Usage(7), created_at=None), make_message("b", Usage(1))
    )

    sums, total = add_up()

    assert [s.key for s in sums] == [None, "2026-11-16"]
    assert total.usage == Usage(8)


def test_a_subagent_counts_for_its_session(shelf: StoreHarness, add_up):
    child = make_key(source="subagent:x")
    shelf.commit(
        make_message("a", Usage(1)), make_message("b", Usage(2), session=child)
    )

    ((session,), _) = add_up("session")

    assert (session.key, session.usage, session.sessions) == ("s", Usage(3), 1)


def test_what_a_fork_shares_counts_once(shelf: StoreHarness, add_up):
    shared = make_message("a", Usage(5), session=make_key("one"))
    shelf.commit(shared, log="one.jsonl")
    copy = make_message("a", Usage(5), session=make_key("two"))
    more = make_message("b", Usage(1), time_at(9), session=make_key("two"))
    shelf.commit(copy, more, log="two.jsonl")

    for by in GROUPS:
        sums, total = add_up(by)
        assert sum(s.usage.input_tokens for s in sums) == 6, by
        assert total.usage == Usage(6), by


def test_every_grouping_comes_to_the_same(shelf: StoreHarness, add_up):
    for n in range(1, 41):
        when = time_at(n * 40_000)
        model = (OPUS, SONNET, "mock-model")[n % 3]
        usage = Usage(n * 9_000, n, n * 100, n * 7, n)
        key = make_key(f"s{n % 4}", "main" if n % 5 else "subagent:x")
        shelf.commit(
            make_message(f"{n}", usage, when, model=model, session=key),
            log=f"{n}.jsonl",
        )

    totals = {by: add_up(by) for by in GROUPS}

    first = totals["day"][1]
    for by, (sums, total) in totals.items():
        assert total.cost == first.cost, by
        assert sum(s.cost.pico for s in sums) == first.cost.pico, by
        assert sum(s.messages for s in sums) == 40, by
        assert total.sessions == 4, by


def test_a_list_of_sessions_costs_what_the_days_do(shelf: StoreHarness, add_up):
    child = make_key(source="subagent:x")
    shelf.commit(
        make_message("a", Usage(900)),
        make_message("b", Usage(70), session=child, model=SONNET),
    )
    with shelf.reader() as reader:
        (session,) = list_sessions(reader, with_costs=True)

    assert session.cost == add_up()[1].cost


def test_a_session_on_two_days_is_one_in_the_total(shelf: StoreHarness, add_up):
    shelf.commit(
        make_message("a", Usage(1)), make_message("b", Usage(1), time_at(100_000))
    )

    sums, total = add_up()

    assert [s.sessions for s in sums] == [1, 1]
    assert total.sessions == 1


def test_a_message_without_a_price_is_counted_and_costs_nothing_known(
    shelf: StoreHarness, add_up
):
    shelf.commit(make_message("a", Usage(10), model="mock-model"))

    ((day,), _) = add_up()

    assert day.usage == Usage(10)
    assert day.cost.usd is None
    assert day.cost.unpriced == 1


def test_each_request_has_the_price_of_its_own_size(shelf: StoreHarness, add_up):
    small, large = Usage(150_000), Usage(250_000)
    shelf.commit(
        make_message("a", small, model=SONNET), make_message("b", large, model=SONNET)
    )

    assert add_up()[1].cost.usd == 0.15 * 3 + 0.25 * 6


def test_the_sum_of_many_requests_is_no_large_request(shelf: StoreHarness, add_up):
    told = {"is_sum": True}
    shelf.commit(make_message("a", Usage(1_000_000), model=SONNET, metadata=told))

    assert add_up()[1].cost.usd == 3


def test_a_price_holds_from_its_day_on(shelf: StoreHarness, add_up):
    change = datetime(2026, 3, 13, tzinfo=UTC)
    before = change - timedelta(seconds=1)
    model, usage = "claude-opus-4-6", Usage(250_000)
    shelf.commit(
        make_message("a", usage, before, model=model),
        make_message("b", usage, change, model=model),
    )
    tariff = load_prices().find_tariff(model)

    sums, _ = add_up()

    costs = [s.cost.pico for s in sums]
    assert tariff is not None
    assert costs[0] > costs[1]


def test_only_what_was_asked_for_counts(shelf: StoreHarness, add_up):
    one, two = make_key("one"), make_key("two")
    shelf.commit(
        make_cwd_event("/src/app", "one"),
        make_message("a", Usage(1), session=one),
        log="1.jsonl",
    )
    shelf.commit(
        make_cwd_event("/src/lib", "two"),
        make_message("b", Usage(2), session=two),
        log="2.jsonl",
    )

    sums, total = add_up("project", sessions=frozenset({two[:2]}))

    assert [(s.key, s.usage) for s in sums] == [("/src/lib", Usage(2))]
    assert (total.usage, total.sessions) == (Usage(2), 1)
    assert add_up(agent="codex") == ([], UsageSummary(key=None))
    late = int(time_at(1).timestamp() * 1_000_000)
    assert add_up(since_us=late)[1].usage == Usage()
    assert add_up(until_us=late)[1].usage == Usage(3)


def test_blocks_begin_at_the_hour_and_last_five(shelf: StoreHarness):
    hours = (0.5, 4, 5.2, 11)
    shelf.commit(*(make_message(f"{h}", Usage(1), time_at(h * 3600)) for h in hours))

    with shelf.reader() as reader:
        blocks, total = UsageStats(reader.usage, load_prices()).sum_blocks(
            UsageFilters()
        )

    assert [(b.start.hour, b.sum.messages) for b in blocks] == [
        (10, 2),
        (15, 1),
        (21, 1),
    ]
    assert total.messages == 4


def test_a_block_is_active_until_it_ends(shelf: StoreHarness):
    shelf.commit(
        make_message("a", Usage(1)), make_message("b", Usage(99), time_at(1800))
    )
    with shelf.reader() as reader:
        ((block,), _) = UsageStats(reader.usage, load_prices()).sum_blocks(
            UsageFilters()
        )

    assert block.is_active(time_at(3600))
    assert not block.is_active(time_at(5 * 3600))
    assert block.per_hour(block.sum.tokens) == 200
