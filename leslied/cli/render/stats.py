"""Rendering of usage statistics as JSON, CSV and tables."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from leslied.agents import load_adapters
from leslied.cli.render.output import (
    format_cost,
    format_count,
    format_number,
    format_path,
    format_table,
    format_time,
    has_room,
    parse_time,
    print_csv,
    sanitize,
)
from leslied.model.codec import encode_time
from leslied.model.stats import PICO, Cost
from leslied.prices import load_prices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leslied.model.session import SessionSummary
    from leslied.model.stats import ToolUsageSummary, UsageSummary
    from leslied.queries import UsageBlock

    Row = dict[str, Any]
    Redact = Callable[[str], str]

_SPARK_CHARS = "▁▂▃▄▅▆▇█"
_MAX_SPARK_DAYS = 60
_MAX_LISTED_MODELS = 5
_BAR_WIDTH = 10
_MIN_WIDTH_FOR_BARS = 100
"""Terminal columns needed to show bars."""


def sum_to_dict(
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
        "project": redact(session.cwd) or None,
        "units": session.units,
        "tool_calls": session.tool_calls,
        "subagents": session.subagents,
    }


def block_to_dict(block: UsageBlock, now: datetime, redact: Redact) -> Row:
    """Build the JSON row of a five-hour window, with its hourly rates."""
    row = sum_to_dict("block", block.summary, redact, None)
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


def tool_to_dict(
    summary: ToolUsageSummary,
    redact: Redact,
    get_session: Callable[[int], tuple[str, str]],
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
            "session_id": get_session(slowest.session)[1],
            "entry_id": slowest.entry_id.hex(),
        }
    return row


def print_rows_csv(by: str, rows: list[Row]) -> None:
    """Print the rows as CSV."""
    names = [name for name in rows[0] if name != "slowest"] if rows else ["key", by]
    print_csv(names, ([row[name] for name in names] for row in rows))


def render_sums(
    by: str,
    rows: list[Row],
    totals: Row,
    unpriced_models: list[str],
    home: str,
    hidden_count: int,
) -> Iterator[str]:
    """Yield a table with a total, sparklines for days, and the source of prices.

    `hidden_count` is the number of rows that the limit leaves out.
    """
    if not rows:
        yield "There is no usage yet. Read new entries with: leslied sync"
        return
    headers, stretch, cells = _make_table(by, rows, totals, home)
    lines = list(
        format_table(
            headers,
            cells,
            stretch=stretch,
            right_aligned=_RIGHT_ALIGNED,
            droppable=_DROPPABLE,
        )
    )
    yield from _lines_with_total(lines, hidden_count)
    if by == "day" and len(rows) > 1:
        yield from _spark_lines(rows)
    yield click.style(f"List prices: {load_prices()}.", dim=True)
    if unpriced_models:
        models = ", ".join(unpriced_models[:_MAX_LISTED_MODELS])
        models += ", …" if len(unpriced_models) > _MAX_LISTED_MODELS else ""
        count = totals["unpriced_messages"]
        excluded = f"the cost excludes {format_count(count, 'message')}"
        yield sanitize(f"No price is known for {models}: {excluded}.")


_RIGHT_ALIGNED = (
    "SESSIONS",
    "MSGS",
    "IN",
    "OUT",
    "READ",
    "WRITE",
    "COST",
    "CALLS",
    "FAILED",
    "NO RESULT",
    "MEDIAN",
    "P95",
    "MAX",
    "TOTAL",
)
_DROPPABLE = (
    "",  # the column of bars
    "WRITE",
    "MSGS",
    "READ",
    "SESSIONS",
    "IN",
    "NO RESULT",
    "MAX",
    "P95",
    "TOTAL",
)


def _lines_with_total(lines: list[str], hidden_count: int) -> Iterator[str]:
    """Yield the table's lines, the last one bold, and the number of hidden lines."""
    yield from lines[:-1]
    yield click.style(lines[-1], bold=True)
    if hidden_count:
        count = format_count(hidden_count, "more line")
        yield click.style(f"{count}, included in the total.", dim=True)
    yield ""


def _make_table(
    by: str, rows: list[Row], totals: Row, home: str
) -> tuple[list[str], int, list[list[str]]]:
    """Return the headers, the index of the stretch column, and the cells."""
    maximum = 0  # no bars
    if has_room(_MIN_WIDTH_FOR_BARS):
        maximum = max((row["cost_usd"] or 0 for row in rows), default=0)
    cells = [
        [
            *_key_cells(by, row, home),
            *_number_cells(row),
            _format_bar(row["cost_usd"], maximum),
        ]
        for row in rows
    ]
    key_headers = _KEY_HEADERS.get(by, [by.upper()])
    stretch = len(key_headers) - 1
    cells.append(["total", *[""] * stretch, *_number_cells(totals), ""])
    headers = [*key_headers, "SESSIONS", "MSGS", "IN", "OUT", "READ", "WRITE"]
    headers += ["COST", ""]
    if by == "session":
        headers, cells = _drop_column("SESSIONS", headers, cells)
    return headers, stretch, cells


def _drop_column(
    header: str, headers: list[str], cells: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    index = headers.index(header)
    return (
        [*headers[:index], *headers[index + 1 :]],
        [[*row[:index], *row[index + 1 :]] for row in cells],
    )


_KEY_HEADERS = {
    "session": ["SESSION", "TITLE"],
    "block": ["BLOCK", "AGENT"],
    "day": ["DAY", "MODELS"],
    "week": ["WEEK OF", "MODELS"],
    "month": ["MONTH", "MODELS"],
}


def _key_cells(by: str, row: Row, home: str) -> list[str]:
    key = row["key"] or "unknown"
    match by:
        case "session":
            return [key, row.get("title") or "-"]
        case "block":
            mark = " now" if row["is_active"] else ""
            return [format_time(parse_time(key)) + mark, row["agent"]]
        case "project":
            max_chars = 60 if has_room(_MIN_WIDTH_FOR_BARS) else 28
            return [_truncate_left(format_path(key, home), max_chars)]
        case "day" | "week" | "month":
            return [key, ", ".join(_shorten_model(model) for model in row["models"])]
        case _:
            return [key]


def _truncate_left(path: str, max_chars: int) -> str:
    """Cut the start of a path, which is less informative than its end."""
    return path if len(path) <= max_chars else "…" + path[1 - max_chars :]


def _shorten_model(model: str) -> str:
    """Return the model's name without provider, the agent's prefix and date."""
    name = model.rpartition("/")[2]
    for adapter in load_adapters().values():
        name = name.removeprefix(adapter.model_prefix)
    head, _, tail = name.rpartition("-")
    return head if len(tail) == 8 and tail.isdigit() else name


def _number_cells(row: Row) -> list[str]:
    priced_messages = row["messages"] - row["unpriced_messages"]
    pico_usd = round((row["cost_usd"] or 0) * PICO)
    return [
        str(row["sessions"]),
        format_number(row["messages"]),
        format_number(row["input_tokens"]),
        format_number(row["output_tokens"]),
        format_number(row["cache_read_tokens"]),
        format_number(row["cache_write_tokens"]),
        format_cost(Cost(pico_usd, priced_messages, row["unpriced_messages"])),
    ]


def _format_bar(value: float | None, maximum: float) -> str:
    return "▇" * round(_BAR_WIDTH * (value or 0) / maximum) if maximum else ""


def _spark_lines(rows: list[Row]) -> Iterator[str]:
    """Yield sparklines with one character per day, limited to the latest days."""
    by_day = {row["key"]: row for row in rows if row["key"]}
    days = _list_days(min(by_day), max(by_day))[-_MAX_SPARK_DAYS:]
    for name, label in (("cost_usd", "cost  "), ("total_tokens", "tokens")):
        values = [by_day[day][name] or 0 if day in by_day else 0 for day in days]
        yield f"{label} {_format_sparkline(values)}  {days[0]} to {days[-1]}"
    yield ""


def _list_days(first: str, last: str) -> list[str]:
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    count = min((end - start).days + 1, _MAX_SPARK_DAYS)
    return [(end - timedelta(days=n)).isoformat() for n in reversed(range(count))]


def _format_sparkline(values: list[float]) -> str:
    maximum = max(values, default=0)
    if not maximum:
        return " " * len(values)
    last_index = len(_SPARK_CHARS) - 1
    return "".join(
        _SPARK_CHARS[max(round(last_index * value / maximum), 0)] if value else " "
        for value in values
    )


def render_tools(rows: list[Row], totals: Row, hidden_count: int) -> Iterator[str]:
    """Yield a table of tools with calls, failures, durations and a total.

    `hidden_count` is the number of rows that the limit leaves out.
    """
    if not rows:
        yield "No tool was called."
        return
    headers = ["TOOL", "CALLS", "FAILED", "NO RESULT"]
    headers += ["MEDIAN", "P95", "MAX", "TOTAL", ""]
    maximum = max(row["calls"] for row in rows) if has_room(_MIN_WIDTH_FOR_BARS) else 0
    cells = [
        [row["tool"], *_tool_number_cells(row), _format_bar(row["calls"], maximum)]
        for row in rows
    ]
    cells.append(["total", *_tool_number_cells(totals), ""])
    lines = list(
        format_table(
            headers,
            cells,
            stretch=0,
            right_aligned=_RIGHT_ALIGNED,
            droppable=_DROPPABLE,
        )
    )
    yield from _lines_with_total(lines, hidden_count)
    yield click.style(
        "NO RESULT counts calls without a result in the log. Times run from a call to "
        "its result, including the wait for permission.",
        dim=True,
    )


def _tool_number_cells(row: Row) -> list[str]:
    times = [row.get(f"{name}_seconds") for name in ("median", "p95", "max", "total")]
    return [
        str(row["calls"]),
        _format_share(row["failed"], row["calls"]),
        str(row["unanswered"]),
        *map(_format_seconds, times),
    ]


def _format_share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f}%)" if part else "0"


def _format_seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, remaining_seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{remaining_seconds:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
