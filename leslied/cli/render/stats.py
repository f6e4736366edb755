"""Rendering of usage statistics as CSV and tables."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.render.output import (
    format_table,
    format_time,
    has_room,
    parse_time,
    print_csv,
    sanitize,
)
from leslied.model.stats import PICO, Cost
from leslied.rendering.humanize import (
    format_cost,
    format_count,
    format_number,
    format_path,
    shorten_model,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leslied.queries.usage.stats import Stats

    Row = dict[str, Any]

_SPARK_CHARS = "▁▂▃▄▅▆▇█"
_MAX_SPARK_DAYS = 60
_MAX_LISTED_MODELS = 5
_BAR_WIDTH = 10
_MIN_WIDTH_FOR_BARS = 100
"""Terminal columns needed to show bars."""


def print_rows_csv(by: str, rows: list[Row]) -> None:
    """Print the rows as CSV."""
    # `slowest`, the slowest call of a tool, is an object and not a cell.
    names = [name for name in rows[0] if name != "slowest"] if rows else ["key", by]
    print_csv(names, ([row[name] for name in names] for row in rows))


def render_stats(
    stats: Stats, home: str, short_ids: Mapping[str, str]
) -> Iterator[str]:
    """Yield a table with a total.

    `short_ids` maps the ids of sessions to the prefixes that the table shows.
    """
    if stats.by == "tool":
        return _render_tools(stats)
    return _render_sums(stats, home, short_ids)


def _render_sums(
    stats: Stats, home: str, short_ids: Mapping[str, str]
) -> Iterator[str]:
    """Yield a table, sparklines for days, and the source of prices."""
    by, totals, unpriced_models = stats.by, stats.totals, stats.unpriced_models
    rows = [{**row, "key": short_ids.get(row["key"], row["key"])} for row in stats.rows]
    if not rows:
        yield "There is no usage yet. Run `leslied sync`, or drop filters."
        return
    headers, cells = _make_table(by, rows, totals, home)
    lines = list(
        format_table(
            headers,
            cells,
            flexible=_list_key_headers(by)[-1],
            right_aligned=_RIGHT_ALIGNED,
            droppable=_DROPPABLE,
        )
    )
    yield from _lines_with_total(lines, stats.hidden_count)
    if by == "day" and len(rows) > 1:
        yield from _spark_lines(rows)
    yield click.style(f"List prices: {stats.price_list}.", dim=True)
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
) -> tuple[list[str], list[list[str]]]:
    """Return the headers and the cells."""
    maximum = 0  # no bars
    if has_room(_MIN_WIDTH_FOR_BARS):
        maximum = max((row["cost_usd"] or 0 for row in rows), default=0)
    cells = [
        [
            *_key_cells(by, row, home),
            *_format_number_cells(row),
            _format_bar(row["cost_usd"], maximum),
        ]
        for row in rows
    ]
    key_headers = _list_key_headers(by)
    blank_cells = [""] * (len(key_headers) - 1)
    cells.append(["total", *blank_cells, *_format_number_cells(totals), ""])
    headers = [*key_headers, "SESSIONS", "MSGS", "IN", "OUT", "READ", "WRITE"]
    headers += ["COST", ""]
    if by == "session":
        headers, cells = _drop_column("SESSIONS", headers, cells)
    return headers, cells


def _list_key_headers(by: str) -> Sequence[str]:
    """Return the headers of the columns that name a row."""
    return _KEY_HEADERS.get(by, [by.upper()])


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
            return [key, ", ".join(shorten_model(model) for model in row["models"])]
        case _:
            return [key]


def _truncate_left(path: str, max_chars: int) -> str:
    """Cut the start of a path, which is less informative than its end."""
    return path if len(path) <= max_chars else "…" + path[1 - max_chars :]


def _format_number_cells(row: Row) -> list[str]:
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
    days = _list_days(min(by_day), max(by_day))
    for name, label in (("cost_usd", "cost  "), ("total_tokens", "tokens")):
        values = [by_day[day][name] or 0 if day in by_day else 0 for day in days]
        yield f"{label} {_format_sparkline(values)}  {days[0]} to {days[-1]}"
    yield ""


def _list_days(first: str, last: str) -> list[str]:
    """Return the days from the first to the last; only the latest if they are many."""
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


def _render_tools(stats: Stats) -> Iterator[str]:
    """Yield a table of tools with calls, failures, durations and a total."""
    rows = stats.rows
    if not rows:
        yield "No tool was called."
        return
    headers = ["TOOL", "CALLS", "FAILED", "NO RESULT"]
    headers += ["MEDIAN", "P95", "MAX", "TOTAL", ""]
    maximum = max(row["calls"] for row in rows) if has_room(_MIN_WIDTH_FOR_BARS) else 0
    cells = [
        [
            row["tool"],
            *_format_tool_number_cells(row),
            _format_bar(row["calls"], maximum),
        ]
        for row in rows
    ]
    cells.append(["total", *_format_tool_number_cells(stats.totals), ""])
    lines = list(
        format_table(
            headers,
            cells,
            flexible=headers[0],
            right_aligned=_RIGHT_ALIGNED,
            droppable=_DROPPABLE,
        )
    )
    yield from _lines_with_total(lines, stats.hidden_count)
    yield click.style(
        "NO RESULT counts calls without a result in the log. Times run from a call to "
        "its result, including the wait for permission.",
        dim=True,
    )


def _format_tool_number_cells(row: Row) -> list[str]:
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
