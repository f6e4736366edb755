"""Cost and tokens over time, split by model, project or agent."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from leslied.model.stats import Cost
from leslied.model.times import EPOCH, from_us
from leslied.queries.usage.local_days import format_day
from leslied.queries.usage.scope import open_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from leslied.model.stats import UsageBucket
    from leslied.queries.context import QueryContext
    from leslied.queries.usage.scope import UsageScope
    from leslied.queries.usage.totals import UsageStats

Period = Literal["day", "week", "month"]
Split = Literal["model", "project", "agent"]
MAX_NAMED_SERIES = 7
"""Groups with a series of their own; more colours cannot be distinguished."""
MAX_PERIODS = 400
_MAX_DAYS_BY_DAY = 92
_MAX_DAYS_BY_WEEK = 2 * 366


class TimelineSeries(Struct, frozen=True, kw_only=True):
    """Usage of one group in each period."""

    key: str | None
    """Name of the group; None for messages without one, and if `is_rest`."""
    is_rest: bool
    """Whether this sums all groups that have no series of their own."""
    cost_usd: tuple[float, ...]
    tokens: tuple[int, ...]
    messages: tuple[int, ...]


class Timeline(Struct, frozen=True, kw_only=True):
    """Usage per period, including the periods without messages."""

    period: Period
    split: Split
    periods: tuple[str, ...]
    """Each day, the first day of each week, or each month; earliest first."""
    series: tuple[TimelineSeries, ...]
    """The most expensive group first, the rest last."""
    unpriced_messages: int
    outside_messages: int
    """Selected messages without a time, or with one outside of the periods."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = self.__struct_fields__
        series = [
            {name: getattr(each, name) for name in each.__struct_fields__}
            for each in self.series
        ]
        return {name: getattr(self, name) for name in names} | {"series": series}

    def iter_rows(self) -> Iterator[tuple[str, str, float, int, int]]:
        """Yield period, group, cost, tokens and messages, for CSV."""
        for index, period in enumerate(self.periods):
            for each in self.series:
                name = "(other)" if each.is_rest else each.key or "(unknown)"
                yield (
                    period,
                    name,
                    each.cost_usd[index],
                    each.tokens[index],
                    each.messages[index],
                )


class _Sum(Struct):
    """Running totals of one group in one period."""

    cost: Cost = Cost()
    tokens: int = 0
    messages: int = 0

    def add(self, other: _Sum) -> None:
        self.cost = self.cost.plus(other.cost)
        self.tokens += other.tokens
        self.messages += other.messages

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key: the largest cost, then the most tokens."""
        return (self.cost.pico, self.tokens)


_Cells = dict[int, _Sum]
"""Totals by the number of the period."""


def load_timeline(
    context: QueryContext,
    scope: UsageScope,
    split: Split = "model",
    period: Period | None = None,
) -> Timeline:
    """Return the usage over time; without a period, choose one by the range of days."""
    stats = open_usage(context, scope)
    with_sessions = split == "project"
    buckets = stats.list_buckets(
        "day", scope.select(context), with_sessions=with_sessions
    )
    days = _find_days(context, scope, buckets)
    period = period or _choose_period(len(days))
    numbers = _list_periods(period, days)
    groups, outside_messages = _sum_cells(stats, buckets, split, period, numbers)
    largest_groups, other_cells = _rank_groups(groups)
    series = [
        _make_series(context.redact(key) if key else None, cells, numbers)
        for key, cells in largest_groups
    ]
    series += (
        [_make_series(None, other_cells, numbers, is_rest=True)] if other_cells else []
    )
    return Timeline(
        period=period,
        split=split,
        periods=tuple(_format_period(period, number) for number in numbers),
        series=tuple(series),
        unpriced_messages=sum(stats.compute_cost(each).unpriced for each in buckets),
        outside_messages=outside_messages,
    )


def _find_days(
    context: QueryContext, scope: UsageScope, buckets: Iterable[UsageBucket]
) -> range:
    """Return the numbers of the days to show, which end today at the latest.

    They start with the first message, unless the scope starts at a day.
    """
    today = _get_day(context.now, scope)
    days_with_messages = [
        b.key for b in buckets if isinstance(b.key, int) and 0 <= b.key <= today
    ]
    if not days_with_messages:
        return range(0)
    first, last = min(days_with_messages), max(days_with_messages)
    if scope.since_us is not None:
        first, last = _get_day(from_us(max(scope.since_us, 0)), scope), today
    if scope.until_us is not None:
        last = min(_get_day(from_us(max(scope.until_us - 1, 0)), scope), today)
    return range(max(first, 0), last + 1)


def _get_day(at: datetime, scope: UsageScope) -> int:
    """Return the number of the local day of a time."""
    return (at.astimezone(scope.zone).date() - EPOCH.date()).days


def _choose_period(days: int) -> Period:
    if days <= _MAX_DAYS_BY_DAY:
        return "day"
    return "week" if days <= _MAX_DAYS_BY_WEEK else "month"


def _list_periods(period: Period, days: range) -> range:
    """Return the numbers of the periods of these days, at most the latest 400."""
    if not days:
        return range(0)
    first, last = _get_period(period, days[0]), _get_period(period, days[-1])
    return range(max(first, last - MAX_PERIODS + 1), last + 1)


def _get_period(period: Period, day: int) -> int:
    """Return the number of the day, week or month that contains a day."""
    match period:
        case "day":
            return day
        case "week":
            # The first day of 1970 was a Thursday; weeks begin on Monday.
            return (day + 3) // 7
        case "month":
            date = EPOCH.date() + timedelta(days=day)
            return date.year * 12 + date.month - 1


def _format_period(period: Period, number: int) -> str:
    """Return the date of a period; `number` is counted as by `_get_period`."""
    if period == "month":
        return f"{number // 12:04d}-{number % 12 + 1:02d}"
    return format_day(7 * number - 3 if period == "week" else number) or ""


def _sum_cells(
    stats: UsageStats,
    buckets: Iterable[UsageBucket],
    split: Split,
    period: Period,
    numbers: range,
) -> tuple[dict[str | None, _Cells], int]:
    """Return totals by group and period, and the number of messages in no period."""
    groups: dict[str | None, _Cells] = {}
    days = _list_days(period, numbers)
    outside_messages = 0
    for bucket in buckets:
        if not isinstance(bucket.key, int) or bucket.key not in days:
            outside_messages += bucket.messages
            continue
        cells = groups.setdefault(stats.get_name(split, bucket), {})
        cell = cells.setdefault(_get_period(period, bucket.key), _Sum())
        cost, tokens = stats.compute_cost(bucket), bucket.usage.total_tokens
        cell.add(_Sum(cost, tokens, bucket.messages))
    return groups, outside_messages


def _list_days(period: Period, numbers: range) -> range:
    """Return the days of these periods."""
    if not numbers:
        return range(0)
    match period:
        case "day":
            return numbers
        case "week":
            return range(7 * numbers[0] - 3, 7 * numbers[-1] + 4)
        case "month":
            return range(_get_month_start(numbers[0]), _get_month_start(numbers.stop))


def _get_month_start(month: int) -> int:
    """Return the number of the first day of a month."""
    date = EPOCH.date().replace(year=month // 12, month=month % 12 + 1)
    return (date - EPOCH.date()).days


def _rank_groups(
    groups: dict[str | None, _Cells],
) -> tuple[list[tuple[str | None, _Cells]], _Cells]:
    """Return the largest groups, and the sum of the others."""
    totals = {key: _sum(cells.values()) for key, cells in groups.items()}
    ranked = sorted(groups, key=lambda key: (totals[key].rank, key or ""), reverse=True)
    other_cells: _Cells = {}
    for key in ranked[MAX_NAMED_SERIES:]:
        for number, cell in groups[key].items():
            other_cells.setdefault(number, _Sum()).add(cell)
    return [(key, groups[key]) for key in ranked[:MAX_NAMED_SERIES]], other_cells


def _sum(cells: Iterable[_Sum]) -> _Sum:
    total = _Sum()
    for cell in cells:
        total.add(cell)
    return total


def _make_series(
    key: str | None, cells: _Cells, numbers: range, *, is_rest: bool = False
) -> TimelineSeries:
    row = [cells.get(number, _Sum()) for number in numbers]
    return TimelineSeries(
        key=key,
        is_rest=is_rest,
        cost_usd=tuple(cell.cost.usd or 0.0 for cell in row),
        tokens=tuple(cell.tokens for cell in row),
        messages=tuple(cell.messages for cell in row),
    )
