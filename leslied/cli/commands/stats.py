"""`leslied stats`: tokens, cost and tools by day, model, project and more."""

from __future__ import annotations

from datetime import UTC
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
)
from leslied.cli.render.stats import print_rows_csv, render_stats
from leslied.model.stats import Grouping
from leslied.queries.short_ids import make_short_ids
from leslied.queries.time_args import parse_time_arg
from leslied.queries.usage.stats import StatsQuestion, load_stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leslied.app import App
    from leslied.queries.usage.stats import Stats


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
    "--model", metavar="TEXT", help="Limit to models whose name contains TEXT."
)
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
    prices, whatever your plan is; `+` marks sums that are too low because the price of
    some messages is unknown.

    --by tool shows how often tools failed and how long they took. --by block groups by
    five-hour windows; each begins at the full hour of its first message.
    """
    app = get_app(ctx)
    check_format_options(options)
    question = _make_question(app, options)
    with app.open_queries() as queries:
        stats = load_stats(queries, question)
        short_ids = {}
        if stats.by == "session":
            short_ids = make_short_ids(queries, [row["key"] for row in stats.rows])
    if options["as_csv"]:
        print_rows_csv(stats.by, stats.rows)
        return
    emit(
        stats.to_dict,
        lambda: _lines(stats, question, str(app.home), short_ids),
        as_json=options["as_json"],
    )


def _make_question(app: App, options: dict[str, Any]) -> StatsQuestion:
    now = app.clock.now()
    zone = UTC if options["utc"] else None
    since, until = options["since"], options["until"]
    return StatsQuestion(
        by=options["by"],
        filters=parse_filters(app, options, (*AGENT_PROJECT_NAMES, "model")),
        since_us=parse_time_arg(since, now, zone) if since else None,
        until_us=parse_time_arg(until, now, zone, is_end=True) if until else None,
        limit=options["limit"],
        zone=zone,
    )


def _lines(
    stats: Stats, question: StatsQuestion, home: str, short_ids: Mapping[str, str]
) -> Iterable[str]:
    if question.filters and not stats.rows and stats.by != "tool":
        return [NO_MATCH]
    return render_stats(stats, home, short_ids)
