"""Endpoints about usage: cost, tokens, activity, tools and context windows.

Each chart of the page has two endpoints; one of them sends its numbers as CSV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from leslied.model.stats import Grouping
from leslied.queries.search_query import make_filter
from leslied.queries.time_args import parse_time_arg
from leslied.queries.usage.choices import load_choices
from leslied.queries.usage.context_use import load_context_use
from leslied.queries.usage.hours import load_hours
from leslied.queries.usage.scope import UsageScope
from leslied.queries.usage.stats import StatsQuestion, load_stats
from leslied.queries.usage.timeline import Period, Split, load_timeline
from leslied.queries.usage.totals import SumOrder
from leslied.queries.value_parsers import make_value_parsers
from leslied.rendering.csv_text import format_csv
from leslied.web.answer_cache import AnswerCache
from leslied.web.endpoint import Content, Endpoint, Param, make_object_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leslied.model.query import FilterKey
    from leslied.queries.context import QueryContext
    from leslied.queries.usage.timeline import Timeline
    from leslied.web.endpoint import Answer, AnswerFunction, Arguments

_CSV = "text/csv"
_FILTER_KEYS: tuple[FilterKey, ...] = ("agent", "project", "model")
_SCOPE = (
    Param(name="since", about="Count from: 2026-01-31, today, 12h, 7d."),
    Param(name="until", about="Count to the end of this day, or until this time."),
    Param(name="agent", about="Only this agent."),
    Param(name="project", about="Only the project of this name or folder."),
    Param(name="model", about="Only models whose name contains this text."),
)
_USAGE = (
    Param(name="by", about="Grouping.", choices=get_args(Grouping), default="day"),
    Param(
        name="order",
        about="What rows are sorted by, unless they are in order of time.",
        choices=get_args(SumOrder),
        default="cost",
    ),
    Param(
        name="limit",
        about="At most so many rows; 0 for all.",
        type="integer",
        default=0,
        maximum=50_000,
    ),
    *_SCOPE,
)
_TIMELINE = (
    Param(
        name="split",
        about="Groups.",
        choices=get_args(Split),
        default=get_args(Split)[0],
    ),
    Param(
        name="period",
        about="Length of a period; chosen by the range if it is left out.",
        choices=get_args(Period),
    ),
    *_SCOPE,
)
_CONTEXT = (
    Param(
        name="limit",
        about="At most so many sessions.",
        type="integer",
        default=10,
        maximum=1000,
    ),
    *_SCOPE,
)
_cache = AnswerCache()


def _parse_scope(queries: QueryContext, arguments: Arguments) -> dict[str, Any]:
    """Return the fields of a scope; raise UserError for a time that is not valid."""
    now, since, until = queries.now, arguments["since"], arguments["until"]
    parsers = make_value_parsers(now, queries.home)
    return {
        "filters": tuple(
            make_filter(key, arguments[key], parsers)
            for key in _FILTER_KEYS
            if arguments[key]
        ),
        "since_us": parse_time_arg(since, now, None) if since else None,
        "until_us": parse_time_arg(until, now, None, is_end=True) if until else None,
    }


def _load_usage(queries: QueryContext, arguments: Arguments) -> Answer:
    question = StatsQuestion(
        by=arguments["by"],
        order=arguments["order"],
        limit=arguments["limit"] or None,
        **_parse_scope(queries, arguments),
    )
    return load_stats(queries, question).to_dict()


def _make_usage_csv(queries: QueryContext, arguments: Arguments) -> Answer:
    answer: Any = _load_usage(queries, arguments)
    rows = answer["rows"]
    names = [name for name in rows[0] if name != "slowest"] if rows else ["key"]
    return _make_csv(names, ([row[name] for name in names] for row in rows))


def _ask_timeline(queries: QueryContext, arguments: Arguments) -> Timeline:
    scope = UsageScope(**_parse_scope(queries, arguments))
    return load_timeline(queries, scope, arguments["split"], arguments["period"])


def _load_timeline(queries: QueryContext, arguments: Arguments) -> Answer:
    return _ask_timeline(queries, arguments).to_dict()


def _make_timeline_csv(queries: QueryContext, arguments: Arguments) -> Answer:
    timeline = _ask_timeline(queries, arguments)
    names = (timeline.period, timeline.split, "cost_usd", "tokens", "messages")
    return _make_csv(names, timeline.iter_rows())


def _load_hours(queries: QueryContext, arguments: Arguments) -> Answer:
    scope = UsageScope(**_parse_scope(queries, arguments))
    return load_hours(queries, scope).to_dict()


def _make_hours_csv(queries: QueryContext, arguments: Arguments) -> Answer:
    scope = UsageScope(**_parse_scope(queries, arguments))
    rows = load_hours(queries, scope).iter_rows()
    return _make_csv(("weekday", "hour", "messages"), rows)


def _load_context(queries: QueryContext, arguments: Arguments) -> Answer:
    scope = UsageScope(**_parse_scope(queries, arguments))
    return load_context_use(queries, scope, arguments["limit"]).to_dict()


def _make_context_csv(queries: QueryContext, arguments: Arguments) -> Answer:
    scope = UsageScope(**_parse_scope(queries, arguments))
    bins = load_context_use(queries, scope, 0).iter_bins()
    return _make_csv(("above_percent", "up_to_percent", "sessions"), bins)


def _load_filter_choices(queries: QueryContext, _: Arguments) -> Answer:
    return load_choices(queries).to_dict()


def _make_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Content:
    text = "".join(format_csv(names, rows))
    return Content(text.encode("utf-8", "replace"), f"{_CSV}; charset=utf-8")


def _make_endpoint(
    path: str, about: str, answer: AnswerFunction, params: tuple[Param, ...] = ()
) -> Endpoint:
    is_csv = path.endswith(".csv")
    return Endpoint(
        path=path,
        about=f"{about}, as CSV." if is_csv else f"{about}.",
        answer=answer if is_csv else _cache.wrap(answer),
        params=params,
        schema=_SCHEMAS.get(path, {}),
        media_type=_CSV if is_csv else "application/json",
    )


_SCHEMAS = {
    "/stats": make_object_schema(
        by="string",
        rows="array",
        totals="object",
        prices="object",
        unpriced_models="array",
    ),
    "/stats/timeline": make_object_schema(
        period="string",
        split="string|null",
        periods="array",
        series="array",
        unpriced_messages="integer",
        outside_messages="integer",
    ),
    "/stats/hours": make_object_schema(
        zone="string", messages="array", undated_messages="integer"
    ),
    "/stats/context": make_object_schema(
        bins="array", unknown_sessions="integer", rows="array"
    ),
    "/stats/choices": make_object_schema(
        agents="array", models="array", projects="array"
    ),
}
ENDPOINTS = (
    _make_endpoint("/stats", "Tokens, cost and tools by group", _load_usage, _USAGE),
    _make_endpoint(
        "/stats/usage.csv", "Tokens, cost and tools by group", _make_usage_csv, _USAGE
    ),
    _make_endpoint(
        "/stats/timeline", "Cost and tokens over time", _load_timeline, _TIMELINE
    ),
    _make_endpoint(
        "/stats/timeline.csv",
        "Cost and tokens over time",
        _make_timeline_csv,
        _TIMELINE,
    ),
    _make_endpoint("/stats/hours", "Messages by weekday and hour", _load_hours, _SCOPE),
    _make_endpoint(
        "/stats/hours.csv", "Messages by weekday and hour", _make_hours_csv, _SCOPE
    ),
    _make_endpoint(
        "/stats/context", "How full context windows were", _load_context, _CONTEXT
    ),
    _make_endpoint(
        "/stats/context.csv",
        "How full context windows were",
        _make_context_csv,
        _CONTEXT,
    ),
    _make_endpoint(
        "/stats/choices", "Values that filters can have", _load_filter_choices
    ),
)
