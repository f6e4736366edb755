"""`leslied stats`: tokens, cost and tools by day, model, project and more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.app import get_app
from leslied.cli.filters import (
    AGENT_PROJECT_NAMES,
    NO_MATCH,
    agent_project_options,
    parse_filters,
)
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    check_format_options,
    csv_option,
    emit,
    json_option,
    shorten_ids,
)
from leslied.cli.render.stats import (
    block_to_dict,
    print_rows_csv,
    render_sums,
    render_tools,
    sum_to_dict,
    tool_to_dict,
)
from leslied.cli.time_args import parse_time_arg
from leslied.model.query import Selection
from leslied.model.stats import Grouping
from leslied.prices import load_prices
from leslied.queries import UsageSelection, UsageStats, summarize_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from leslied.app import App
    from leslied.model.session import SessionSummary
    from leslied.model.stats import UsageSummary
    from leslied.store import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatsQuery:
    """The options of the command, and what is needed to run the query."""

    by: Grouping
    filters: UsageSelection
    limit: int | None
    app: App
    reader: StoreReader
    stats: UsageStats
    now: datetime
    redact: Callable[[str], str]

    @property
    def is_filtered(self) -> bool:
        """Return whether an agent or project filter is set."""
        return bool(self.filters.agent) or self.filters.sessions is not None


@dataclass(frozen=True, slots=True)
class _StatsResult:
    """Rows and totals for JSON and CSV, and the lines of the text output."""

    rows: list[dict[str, Any]]
    lines: Callable[[], Iterable[str]]
    totals: dict[str, Any]
    unpriced_models: list[str]


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied stats", "usage per day"),
        ("leslied stats --by model --since 7d", "per model, last 7 days"),
        ("leslied stats --by project -n 5", "the five most expensive projects"),
        ("leslied stats --by tool --agent codex", "Codex's tool calls and failures"),
        ("leslied stats --csv > stats.csv", "for a spreadsheet"),
    ],
    see_also=["list", "statusline"],
)
@click.option(
    "--by",
    type=click.Choice(get_args(Grouping)),
    default="day",
    show_default=True,
    help="Set the grouping.",
)
@click.option(
    "--since",
    metavar="WHEN",
    help="Count from this day or time: 2026-01-31, today, 12h, 7d.",
)
@click.option(
    "--until", metavar="WHEN", help="Count to the end of this day, or until this time."
)
@agent_project_options
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help="Show at most N lines: the latest days, or the largest sums.",
)
@click.option("--utc", is_flag=True, help="Use UTC for days and weeks, not local time.")
@csv_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Show tokens and cost, or statistics of tool calls.

    Subagents are included, and every API message is counted once. Costs are list
    prices, whatever your plan is; `+` marks sums that lack messages without a known
    price.

    --by tool shows how often tools failed and how long they took. --by block groups by
    five-hour windows.
    """
    app = get_app(ctx)
    as_json, as_csv = options["as_json"], options["as_csv"]
    check_format_options(options)
    with app.open_reader() as reader:
        query = _make_query(app, reader, options)
        result = _run_query(query)
    if as_csv:
        print_rows_csv(query.by, result.rows)
        return
    prices = load_prices()
    data = {
        "by": query.by,
        "rows": result.rows,
        "totals": result.totals,
        "prices": {
            "source": prices.source,
            "version": prices.version,
            "date": prices.date,
        },
        "unpriced_models": result.unpriced_models,
    }
    emit(data, result.lines, as_json=as_json)


def _make_query(app: App, reader: StoreReader, options: dict[str, Any]) -> _StatsQuery:
    now = app.clock.now()
    zone = UTC if options["utc"] else None
    stats = UsageStats(reader.usage, load_prices(), zone)
    since, until = options["since"], options["until"]
    filters = UsageSelection(
        agent=options["agent"] or "",
        since_us=parse_time_arg(since, now, zone) if since else None,
        until_us=parse_time_arg(until, now, zone, is_end=True) if until else None,
        sessions=_select_sessions(app, reader, options),
    )
    return _StatsQuery(
        by=options["by"],
        filters=filters,
        limit=options["limit"],
        app=app,
        reader=reader,
        stats=stats,
        now=now,
        redact=cache(app.redact),
    )


def _select_sessions(
    app: App, reader: StoreReader, options: dict[str, Any]
) -> frozenset[tuple[str, str]] | None:
    """Return the keys of the project's sessions; None without --project.

    Raises UserError if the agent of --agent is unknown.
    """
    filters = parse_filters(app, options, AGENT_PROJECT_NAMES)
    if filters:
        from leslied.queries import check_agents  # noqa: PLC0415 - most calls have no filter

        check_agents(reader, filters)
    if not options["project"]:
        return None
    return frozenset(reader.select_sessions(Selection(filters=filters)))


def _run_query(query: _StatsQuery) -> _StatsResult:
    match query.by:
        case "tool":
            return _query_tools(query)
        case "block":
            return _query_blocks(query)
        case _:
            return _query_sums(query)


def _query_sums(query: _StatsQuery) -> _StatsResult:
    sums, total = query.stats.sum_groups(query.by, query.filters)
    sessions = _load_sessions(query) if query.by == "session" else {}
    rows = [
        sum_to_dict(query.by, each, query.redact, sessions.get(_get_session_key(each)))
        for each in _apply_limit(query, sums)
    ]
    return _make_result(query, rows, total, len(sums))


def _query_blocks(query: _StatsQuery) -> _StatsResult:
    blocks, total = query.stats.sum_blocks(query.filters)
    visible = blocks[-query.limit :] if query.limit else blocks
    rows = [block_to_dict(block, query.now, query.redact) for block in visible]
    return _make_result(query, rows, total, len(blocks))


def _make_result(
    query: _StatsQuery, rows: list[dict[str, Any]], total: UsageSummary, row_count: int
) -> _StatsResult:
    """Build the result; `row_count` includes the rows that the limit leaves out."""
    totals = sum_to_dict("total", total, query.redact, None)
    unpriced_models = [
        query.redact(model) for model in query.stats.list_unpriced_models(total)
    ]
    home = str(query.app.home)
    if query.is_filtered and not rows:
        return _StatsResult(rows, lambda: [NO_MATCH], totals, unpriced_models)
    table_rows = _shorten_keys(query, rows) if query.by == "session" else rows
    hidden_count = row_count - len(rows)
    return _StatsResult(
        rows,
        lambda: render_sums(
            query.by, table_rows, totals, unpriced_models, home, hidden_count
        ),
        totals,
        unpriced_models,
    )


def _shorten_keys(
    query: _StatsQuery, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows with shortened session ids."""
    ids = [row["key"] for row in rows]
    short_ids = shorten_ids(ids, query.reader.list_similar_ids(ids))
    return [{**row, "key": short_ids[row["key"]]} for row in rows]


def _query_tools(query: _StatsQuery) -> _StatsResult:
    tools = summarize_tools(query.stats.list_calls(query.filters))
    get_session = query.stats.get_session
    all_rows = [tool_to_dict(tool, query.redact, get_session) for tool in tools]
    totals = {
        name: sum(row[name] for row in all_rows)
        for name in ("calls", "failed", "unanswered", "total_seconds")
    }
    rows = all_rows[: query.limit]
    hidden_count = len(all_rows) - len(rows)
    return _StatsResult(
        rows, lambda: render_tools(rows, totals, hidden_count), totals, []
    )


def _apply_limit(query: _StatsQuery, sums: list[UsageSummary]) -> list[UsageSummary]:
    if not query.limit:
        return sums
    is_chronological = query.by in ("day", "week", "month")
    return sums[-query.limit :] if is_chronological else sums[: query.limit]


def _get_session_key(summary: UsageSummary) -> tuple[str, str]:
    return summary.agent, summary.key or ""


def _load_sessions(query: _StatsQuery) -> dict[tuple[str, str], SessionSummary]:
    from leslied.queries import list_sessions  # noqa: PLC0415 - only --by session

    return {s.key[:2]: s for s in list_sessions(query.reader)}
