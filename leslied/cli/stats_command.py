"""`leslied stats`: tokens, cost and tools by day, model, project and more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.cli.desk import sit_down
from leslied.cli.filters import NOTHING_LIKE, WHOSE, read_filters, whose_options
from leslied.cli.help import Command
from leslied.cli.output import (
    check_form,
    csv_option,
    emit,
    json_option,
    shorten_ids,
)
from leslied.cli.span import parse_moment
from leslied.cli.stats_view import (
    plain_block,
    plain_sum,
    plain_tool,
    print_rows,
    sum_lines,
    tool_lines,
)
from leslied.model.query import Selection
from leslied.model.stats import Grouping
from leslied.prices import load_prices
from leslied.stats import UsageFilters, UsageStats, sum_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from leslied.cli.desk import Desk
    from leslied.model.session import SessionSummary
    from leslied.model.stats import UsageSummary
    from leslied.store import StoreReader


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What was asked, and with what it is answered."""

    by: Grouping
    filters: UsageFilters
    limit: int | None
    desk: Desk
    reader: StoreReader
    ledger: UsageStats
    now: datetime
    redact: Callable[[str], str]

    @property
    def is_narrow(self) -> bool:
        """Whether not all sessions count."""
        return bool(self.filters.agent) or self.filters.sessions is not None


@dataclass(frozen=True, slots=True)
class _Answer:
    rows: list[dict[str, Any]]
    lines: Callable[[], Iterable[str]]
    totals: dict[str, Any]
    unpriced: list[str]


@click.command(
    cls=Command,
    examples=[
        ("leslied stats", "day by day"),
        ("leslied stats --by model --since 7d", "by model, in the last seven days"),
        ("leslied stats --by project -n 5", "the five dearest projects"),
        ("leslied stats --by tool --agent codex", "how Codex's tools did"),
        ("leslied stats --csv > stats.csv", "for a spreadsheet"),
    ],
    see_also=["list", "statusline"],
)
@click.option(
    "--by",
    type=click.Choice(get_args(Grouping)),
    default="day",
    show_default=True,
    help="What makes a line.",
)
@click.option(
    "--since",
    metavar="WHEN",
    help="From this day or time on: 2026-01-31, today, 12h, 7d.",
)
@click.option("--until", metavar="WHEN", help="Up to this day, or before this time.")
@whose_options
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help="So many lines: the latest days, or the largest sums.",
)
@click.option("--utc", is_flag=True, help="Days and weeks of UTC, not local ones.")
@csv_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **asked: Any) -> None:
    """Count tokens and what they cost, or how tools did.

    For what was spent, on what and when; `--by tool` tells how often tools failed and
    how long they took.

    Subagents are counted in, and every API message counts once. The cost is that of
    the list prices, whatever your plan is; `+` marks sums in which some messages have
    no known price. `--by block` tells five-hour windows.
    """
    desk = sit_down(ctx)
    as_json, as_csv = asked["as_json"], asked["as_csv"]
    check_form(asked)
    with desk.open_reader() as reader:
        question = _ask(desk, reader, asked)
        answer = _answer(question)
    if as_csv:
        print_rows(question.by, answer.rows)
        return
    prices = load_prices()
    data = {
        "by": question.by,
        "rows": answer.rows,
        "totals": answer.totals,
        "prices": {
            "source": prices.source,
            "version": prices.version,
            "date": prices.date,
        },
        "unpriced_models": answer.unpriced,
    }
    emit(data, answer.lines, as_json=as_json)


def _ask(desk: Desk, reader: StoreReader, asked: dict[str, Any]) -> _Question:
    now = desk.clock.now()
    zone = UTC if asked["utc"] else None
    ledger = UsageStats(reader.usage, load_prices(), zone)
    since, until = asked["since"], asked["until"]
    filters = UsageFilters(
        agent=asked["agent"] or "",
        since_us=parse_moment(since, now, zone) if since else None,
        until_us=parse_moment(until, now, zone, is_end=True) if until else None,
        sessions=_choose(desk, reader, asked),
    )
    return _Question(
        by=asked["by"],
        filters=filters,
        limit=asked["limit"],
        desk=desk,
        reader=reader,
        ledger=ledger,
        now=now,
        redact=cache(desk.redact),
    )


def _choose(
    desk: Desk, reader: StoreReader, asked: dict[str, Any]
) -> frozenset[tuple[str, str]] | None:
    """The sessions that count; None where every one of the agent's does."""
    filters = read_filters(desk, asked, WHOSE)
    if filters:
        from leslied.lookup import check_agents  # noqa: PLC0415 - most name none

        check_agents(reader, filters)
    if not asked["project"]:
        return None
    return frozenset(reader.select_sessions(Selection(filters=filters)))


def _answer(question: _Question) -> _Answer:
    match question.by:
        case "tool":
            return _answer_tools(question)
        case "block":
            return _answer_blocks(question)
        case _:
            return _answer_sums(question)


def _answer_sums(question: _Question) -> _Answer:
    sums, total = question.ledger.sum_groups(question.by, question.filters)
    sessions = _gather(question) if question.by == "session" else {}
    rows = [
        plain_sum(question.by, each, question.redact, sessions.get(_name(each)))
        for each in _cut(question, sums)
    ]
    return _close(question, rows, total, len(sums))


def _answer_blocks(question: _Question) -> _Answer:
    blocks, total = question.ledger.sum_blocks(question.filters)
    cut = blocks[-question.limit :] if question.limit else blocks
    rows = [plain_block(block, question.now, question.redact) for block in cut]
    return _close(question, rows, total, len(blocks))


def _close(
    question: _Question, rows: list[dict[str, Any]], total: UsageSummary, count: int
) -> _Answer:
    totals = plain_sum("total", total, question.redact, None)
    unpriced = [question.redact(m) for m in question.ledger.list_unpriced_models(total)]
    home = str(question.desk.home)
    if question.is_narrow and not rows:
        return _Answer(rows, lambda: [NOTHING_LIKE], totals, unpriced)
    shown = _shorten(question, rows) if question.by == "session" else rows
    hidden = count - len(rows)
    return _Answer(
        rows,
        lambda: sum_lines(question.by, shown, totals, unpriced, home, hidden),
        totals,
        unpriced,
    )


def _shorten(question: _Question, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with ids as people type them."""
    ids = [row["key"] for row in rows]
    shorts = shorten_ids(ids, question.reader.list_similar_ids(ids))
    return [{**row, "key": shorts[row["key"]]} for row in rows]


def _answer_tools(question: _Question) -> _Answer:
    found = sum_tools(question.ledger.list_calls(question.filters))
    session_of = question.ledger.get_session
    every = [plain_tool(each, question.redact, session_of) for each in found]
    totals = {
        name: sum(row[name] for row in every)
        for name in ("calls", "failed", "unanswered", "total_seconds")
    }
    rows = every[: question.limit]
    hidden = len(every) - len(rows)
    return _Answer(rows, lambda: tool_lines(rows, totals, hidden), totals, [])


def _cut(question: _Question, sums: list[UsageSummary]) -> list[UsageSummary]:
    if not question.limit:
        return sums
    is_time = question.by in ("day", "week", "month")
    return sums[-question.limit :] if is_time else sums[: question.limit]


def _name(each: UsageSummary) -> tuple[str, str]:
    return each.agent, each.key or ""


def _gather(question: _Question) -> dict[tuple[str, str], SessionSummary]:
    from leslied.lookup import list_sessions  # noqa: PLC0415 - only this list tells

    return {s.key[:2]: s for s in list_sessions(question.reader)}
