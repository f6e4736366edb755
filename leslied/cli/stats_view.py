"""Sums as scripts read them and as people do."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.output import (
    clean,
    has_room,
    print_csv,
    read_time,
    say_cost,
    say_count,
    say_number,
    say_path,
    say_time,
    table,
)
from leslied.model.codec import encode_time
from leslied.model.stats import Cost
from leslied.prices import load_prices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leslied.model.session import SessionSummary
    from leslied.model.stats import ToolUsageSummary, UsageSummary
    from leslied.stats import UsageBlock

    Row = dict[str, Any]
    Redact = Callable[[str], str]

_SPARKS = "▁▂▃▄▅▆▇█"
_MOST_SPARKS = 60
_BAR = 10
_WIDE = 100
"""Columns of a terminal that has room for bars."""


def plain_sum(
    by: str, each: UsageSummary, redact: Redact, session: SessionSummary | None
) -> Row:
    """One line for scripts: the group's key, tokens, cost and counts."""
    usage = each.usage
    key = redact(each.key) if each.key else None
    row: Row = {} if by == "total" else {"key": key, by: key}
    if by in ("session", "block"):
        row["agent"] = each.agent
    row |= _plain_session(session, redact) if session else {}
    return row | {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "total_tokens": each.tokens,
        "cost_usd": each.cost.usd,
        "unpriced_messages": each.cost.unpriced,
        "messages": each.messages,
        "sessions": each.sessions,
        "models": [redact(model) for model in each.models],
        "first_at": encode_time(each.first_at),
        "last_at": encode_time(each.last_at),
    }


def _plain_session(session: SessionSummary, redact: Redact) -> Row:
    return {
        "title": redact(session.title) or None,
        "project": redact(session.cwd) or None,
        "units": session.units,
        "tool_calls": session.tool_calls,
        "subagents": session.subagents,
    }


def plain_block(block: UsageBlock, now: Any, redact: Redact) -> Row:
    """One five-hour window for scripts, with its pace."""
    row = plain_sum("block", block.sum, redact, None)
    row["key"] = row["block"] = encode_time(block.start)
    is_active = block.is_active(now)
    usd = block.sum.cost.usd
    pace = block.per_hour(usd) if usd is not None else None
    left = (block.end - now) / timedelta(hours=1)
    return row | {
        "ends_at": encode_time(block.end),
        "is_active": is_active,
        "tokens_per_hour": block.per_hour(block.sum.tokens),
        "cost_usd_per_hour": pace,
        "projected_cost_usd": (usd or 0) + pace * left if is_active and pace else None,
    }


def plain_tool(
    each: ToolUsageSummary, redact: Redact, session_of: Callable[[int], tuple[str, str]]
) -> Row:
    """One tool for scripts; `slowest` names the call to look at."""
    tool = redact(each.tool)
    row: Row = {
        "key": tool,
        "tool": tool,
        "calls": each.calls,
        "failed": each.failed,
        "unanswered": each.unanswered,
        "sessions": each.sessions,
        "timed": each.timed,
        "median_seconds": each.median_seconds,
        "p95_seconds": each.p95_seconds,
        "max_seconds": each.max_seconds,
        "total_seconds": each.total_seconds,
        "slowest": None,
    }
    if each.slowest:
        session, entry = session_of(each.slowest.session)[1], each.slowest.entry_id
        row["slowest"] = {"session_id": session, "entry_id": entry.hex()}
    return row


def print_rows(by: str, rows: list[Row]) -> None:
    """The rows for a spreadsheet."""
    names = [name for name in rows[0] if name != "slowest"] if rows else ["key", by]
    print_csv(names, ([row[name] for name in names] for row in rows))


def sum_lines(
    by: str, rows: list[Row], totals: Row, unpriced: list[str], home: str, hidden: int
) -> Iterator[str]:
    """A table with its total, a line of sparks for days, and whose prices these are."""
    if not rows:
        yield "Nothing to count. What is new is read by: leslied sync"
        return
    names, stretch, cells = _columns(by, rows, totals, home)
    lines = list(table(names, cells, stretch=stretch, right=_RIGHT, least=_LEAST))
    yield from _close_table(lines, hidden)
    if by == "day" and len(rows) > 1:
        yield from _spark_lines(rows)
    yield click.style(f"List prices: {load_prices()}.", dim=True)
    if unpriced:
        told = ", ".join(unpriced[:5]) + (", …" if len(unpriced) > 5 else "")
        count = totals["unpriced_messages"]
        without = f"{say_count(count, 'message')} not in the cost"
        yield clean(f"No price is known for {told}: {without}.")


_RIGHT = "SESSIONS MSGS IN OUT READ WRITE COST CALLS FAILED LOST MEDIAN P95 MAX TOTAL"
_LEAST = ("", "WRITE", "MSGS", "READ", "SESSIONS", "IN", "LOST", "MAX", "P95", "TOTAL")


def _close_table(lines: list[str], hidden: int) -> Iterator[str]:
    """The lines, the last of which is the total, and how many are not shown."""
    yield from lines[:-1]
    yield click.style(lines[-1], bold=True)
    if hidden:
        more = say_count(hidden, "more line")
        yield click.style(f"{more}, counted in the total.", dim=True)
    yield ""


def _columns(
    by: str, rows: list[Row], totals: Row, home: str
) -> tuple[list[str], int, list[list[str]]]:
    most = max((row["cost_usd"] or 0 for row in rows), default=0)
    most = most if has_room(_WIDE) else 0
    cells = [
        [*_heads(by, row, home), *_numbers(row), _bar(row["cost_usd"], most)]
        for row in rows
    ]
    heads = _HEADS.get(by, [by.upper()])
    cells.append(["total", *[""] * (len(heads) - 1), *_numbers(totals), ""])
    names = [*heads, "SESSIONS", "MSGS", "IN", "OUT", "READ", "WRITE", "COST", ""]
    if by == "session":
        names, cells = _without("SESSIONS", names, cells)
    return names, len(heads) - 1, cells


def _without(
    name: str, names: list[str], cells: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    at = names.index(name)
    return (
        [*names[:at], *names[at + 1 :]],
        [[*row[:at], *row[at + 1 :]] for row in cells],
    )


_HEADS = {
    "session": ["SESSION", "TITLE"],
    "block": ["BLOCK", "AGENT"],
    "day": ["DAY", "MODELS"],
    "week": ["WEEK OF", "MODELS"],
    "month": ["MONTH", "MODELS"],
}


def _heads(by: str, row: Row, home: str) -> list[str]:
    key = row["key"] or "unknown"
    match by:
        case "session":
            return [key, row.get("title") or "-"]
        case "block":
            mark = " now" if row["is_active"] else ""
            return [say_time(read_time(key)) + mark, row["agent"]]
        case "project":
            return [_cut_left(say_path(key, home), 60 if has_room(_WIDE) else 28)]
        case "day" | "week" | "month":
            return [key, ", ".join(_short(model) for model in row["models"])]
        case _:
            return [key]


def _cut_left(path: str, most: int) -> str:
    """The end of a path tells more than its beginning."""
    return path if len(path) <= most else "…" + path[1 - most :]


def _short(model: str) -> str:
    """The model without its maker's name and its date."""
    name = model.rpartition("/")[2].removeprefix("claude-")
    head, _, tail = name.rpartition("-")
    return head if len(tail) == 8 and tail.isdigit() else name


def _numbers(row: Row) -> list[str]:
    known = row["messages"] - row["unpriced_messages"]
    pico = round((row["cost_usd"] or 0) * 10**12)
    return [
        str(row["sessions"]),
        say_number(row["messages"]),
        say_number(row["input_tokens"]),
        say_number(row["output_tokens"]),
        say_number(row["cache_read_tokens"]),
        say_number(row["cache_write_tokens"]),
        say_cost(Cost(pico, known, row["unpriced_messages"])),
    ]


def _bar(value: float | None, most: float) -> str:
    return "▇" * round(_BAR * (value or 0) / most) if most else ""


def _spark_lines(rows: list[Row]) -> Iterator[str]:
    """One character a day, days without a message too; the last ones that fit."""
    known = {row["key"]: row for row in rows if row["key"]}
    days = _days(min(known), max(known))[-_MOST_SPARKS:]
    for name, what in (("cost_usd", "cost  "), ("total_tokens", "tokens")):
        values = [known[day][name] or 0 if day in known else 0 for day in days]
        yield f"{what} {_sparks(values)}  {days[0]} to {days[-1]}"
    yield ""


def _days(first: str, last: str) -> list[str]:
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    count = min((end - start).days + 1, _MOST_SPARKS)
    return [(end - timedelta(days=n)).isoformat() for n in reversed(range(count))]


def _sparks(values: list[float]) -> str:
    most = max(values, default=0)
    if not most:
        return " " * len(values)
    top = len(_SPARKS) - 1
    return "".join(
        _SPARKS[max(round(top * value / most), 0)] if value else " " for value in values
    )


def tool_lines(rows: list[Row], totals: Row, hidden: int) -> Iterator[str]:
    """A table of tools with its total: how often, how well, how long."""
    if not rows:
        yield "No tool was called."
        return
    names = ["TOOL", "CALLS", "FAILED", "LOST", "MEDIAN", "P95", "MAX", "TOTAL", ""]
    most = max(row["calls"] for row in rows) if has_room(_WIDE) else 0
    cells = [
        [row["tool"], *_tool_numbers(row), _bar(row["calls"], most)] for row in rows
    ]
    cells.append(["total", *_tool_numbers(totals), ""])
    lines = list(table(names, cells, stretch=0, right=_RIGHT, least=_LEAST))
    yield from _close_table(lines, hidden)
    yield click.style(
        "LOST calls have no result. Times run from the call to its result in the "
        "log: waiting for a permission is in them.",
        dim=True,
    )


def _tool_numbers(row: Row) -> list[str]:
    times = [row.get(f"{name}_seconds") for name in ("median", "p95", "max", "total")]
    return [
        str(row["calls"]),
        _share(row["failed"], row["calls"]),
        str(row["unanswered"]),
        *map(_seconds, times),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f}%)" if part else "0"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
