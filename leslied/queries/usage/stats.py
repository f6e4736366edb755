"""Tokens, cost and tool calls, by group."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from leslied.model.codec import encode_time
from leslied.prices import load_prices
from leslied.queries.sessions import find_sessions
from leslied.queries.usage.scope import UsageScope, open_usage
from leslied.queries.usage.tools import summarize_tools
from leslied.queries.usage.totals import UsageSelection, UsageStats

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leslied.model.session import SessionSummary
    from leslied.model.stats import Grouping, ToolUsageSummary, UsageSummary
    from leslied.queries.context import QueryContext
    from leslied.queries.usage.blocks import UsageBlock
    from leslied.queries.usage.totals import SumOrder

    Row = dict[str, Any]
    Redact = Callable[[str], str]

_Row = TypeVar("_Row")
_CHRONOLOGICAL = ("day", "week", "month", "block")
_TOOL_TOTALS = ("calls", "failed", "unanswered", "total_seconds")


class StatsQuestion(UsageScope, frozen=True, kw_only=True):
    """What to count, and how to group it."""

    by: Grouping
    limit: int | None = None
    """Maximum number of rows: the latest ones, or those with the largest sums."""
    order: SumOrder = "cost"
    """What rows are sorted by, unless they are in order of time."""

    def limit_rows(self, rows: list[_Row]) -> list[_Row]:
        """Return at most `limit` rows: the last in order of time, else the first."""
        if not self.limit:
            return rows
        is_chronological = self.by in _CHRONOLOGICAL
        return rows[-self.limit :] if is_chronological else rows[: self.limit]


class Stats(Struct, frozen=True, kw_only=True):
    """Rows and totals; each row is a flat JSON object whose `key` names the group."""

    by: Grouping
    rows: list[Row]
    totals: Row
    unpriced_models: list[str]
    """Models without a known price; their messages are missing from costs."""
    hidden_count: int
    """Number of rows that the limit left out; the totals include them."""
    price_list: str
    """The source of the prices, for people."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        prices = load_prices()
        return {
            "by": self.by,
            "rows": self.rows,
            "totals": self.totals,
            "prices": {
                "source": prices.source,
                "version": prices.version,
                "date": prices.date,
            },
            "unpriced_models": self.unpriced_models,
        }


def load_stats(context: QueryContext, question: StatsQuestion) -> Stats:
    """Return the usage of all selected messages; raise UserError for unknown agents."""
    selection = question.select(context)
    stats = open_usage(context, question)
    match question.by:
        case "tool":
            return _sum_tools(context, question, stats, selection)
        case "block":
            return _sum_blocks(context, question, stats, selection)
        case _:
            return _sum_groups(context, question, stats, selection)


def load_totals(
    context: QueryContext, since_us: int, session_id: str
) -> tuple[UsageSummary, UsageSummary | None]:
    """Return the usage since a time, and that of a session if an id is given."""
    stats = UsageStats(context.reader.usage, load_prices())
    recent = stats.sum_all(UsageSelection(since_us=since_us))
    if not session_id:
        return recent, None
    return recent, stats.sum_all(UsageSelection(session_id=session_id))


def _sum_groups(
    context: QueryContext,
    question: StatsQuestion,
    stats: UsageStats,
    selection: UsageSelection,
) -> Stats:
    sums, total = stats.sum_groups(question.by, selection, question.order)
    limited_sums = question.limit_rows(sums)
    sessions: dict[tuple[str, str], SessionSummary] = {}
    if question.by == "session":
        names = [(each.agent, each.key or "") for each in limited_sums]
        sessions = find_sessions(context.reader, names)
    rows = [
        _sum_to_dict(
            question.by,
            each,
            context.redact,
            sessions.get((each.agent, each.key or "")),
        )
        for each in limited_sums
    ]
    return _make_answer(context, question, stats, rows, total, len(sums))


def _sum_blocks(
    context: QueryContext,
    question: StatsQuestion,
    stats: UsageStats,
    selection: UsageSelection,
) -> Stats:
    """Sum the usage of each five-hour block."""
    blocks, total = stats.sum_blocks(selection)
    rows = [
        _block_to_dict(block, context.now, context.redact)
        for block in question.limit_rows(blocks)
    ]
    return _make_answer(context, question, stats, rows, total, len(blocks))


def _make_answer(
    context: QueryContext,
    question: StatsQuestion,
    stats: UsageStats,
    rows: list[Row],
    total: UsageSummary,
    row_count: int,
) -> Stats:
    """Return the answer; `row_count` includes the rows that the limit leaves out."""
    models = stats.list_unpriced_models(total)
    return Stats(
        by=question.by,
        rows=rows,
        totals=_sum_to_dict("total", total, context.redact, None),
        unpriced_models=[context.redact(model) for model in models],
        hidden_count=row_count - len(rows),
        price_list=str(load_prices()),
    )


def _sum_tools(
    context: QueryContext,
    question: StatsQuestion,
    stats: UsageStats,
    selection: UsageSelection,
) -> Stats:
    tools = summarize_tools(stats.list_calls(selection))
    all_rows = [_tool_to_dict(tool, context.redact) for tool in tools]
    rows = question.limit_rows(all_rows)
    return Stats(
        by=question.by,
        rows=rows,
        totals={name: sum(row[name] for row in all_rows) for name in _TOOL_TOTALS},
        unpriced_models=[],
        hidden_count=len(all_rows) - len(rows),
        price_list=str(load_prices()),
    )


def _sum_to_dict(
    by: str, summary: UsageSummary, redact: Redact, session: SessionSummary | None
) -> Row:
    """Build a JSON row: the group's key, tokens, cost and counts.

    If the group is a session, `session` adds its title, project and own counts.
    """
    usage = summary.usage
    key = redact(summary.key) if summary.key else None
    row: Row = {} if by == "total" else {"key": key, by: key}
    if by in ("session", "block"):
        row["agent"] = summary.agent
    row |= _session_to_dict(session, redact) if session else {}
    return row | {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "total_tokens": summary.tokens,
        "cost_usd": summary.cost.usd,
        "unpriced_messages": summary.cost.unpriced,
        "messages": summary.messages,
        "sessions": summary.sessions,
        "models": [redact(model) for model in summary.models],
        "first_at": encode_time(summary.first_at),
        "last_at": encode_time(summary.last_at),
    }


def _session_to_dict(session: SessionSummary, redact: Redact) -> Row:
    return {
        "title": redact(session.title) or None,
        "project": redact(session.project) or None,
        "units": session.current_units,
        "tool_calls": session.tool_calls,
        "subagents": session.subagents,
    }


def _block_to_dict(block: UsageBlock, now: datetime, redact: Redact) -> Row:
    """Build the JSON row of a five-hour window, with its hourly rates."""
    row = _sum_to_dict("block", block.summary, redact, None)
    row["key"] = row["block"] = encode_time(block.start)
    is_active = block.is_active(now)
    usd = block.summary.cost.usd
    hourly_cost = block.per_hour(usd) if usd is not None else None
    hours_left = (block.end - now) / timedelta(hours=1)
    projected_cost = None
    if is_active and hourly_cost:
        projected_cost = (usd or 0) + hourly_cost * hours_left
    return row | {
        "ends_at": encode_time(block.end),
        "is_active": is_active,
        "tokens_per_hour": block.per_hour(block.summary.tokens),
        "cost_usd_per_hour": hourly_cost,
        "projected_cost_usd": projected_cost,
    }


def _tool_to_dict(
    summary: ToolUsageSummary,
    redact: Redact,
) -> Row:
    """Build the JSON row of a tool; `slowest` identifies its slowest call."""
    tool = redact(summary.tool)
    row: Row = {
        "key": tool,
        "tool": tool,
        "calls": summary.calls,
        "failed": summary.failed,
        "unanswered": summary.unanswered,
        "sessions": summary.sessions,
        "timed": summary.timed,
        "median_seconds": summary.median_seconds,
        "p95_seconds": summary.p95_seconds,
        "max_seconds": summary.max_seconds,
        "total_seconds": summary.total_seconds,
        "slowest": None,
    }
    if slowest := summary.slowest:
        row["slowest"] = {
            "session_id": redact(slowest.session.session_id),
            "entry_id": slowest.entry_id.hex(),
        }
    return row
