"""`leslied sql`: run read-only SQL queries over the store's views."""

from __future__ import annotations

import math
import sys
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    check_format_options,
    csv_option,
    emit,
    format_table,
    has_room,
    json_option,
    print_csv,
    sanitize,
)
from leslied.errors import UserError
from leslied.graphemes import ellipsize
from leslied.queries.scripts import SQL_TIMEOUT_SECONDS, SqlTable, list_views
from leslied.queries.sql_process import execute_in_child
from leslied.rendering.humanize import format_bytes, format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leslied.queries.scripts import ViewList

_DEFAULT_LIMIT = 100
_MIN_COLUMN_WIDTH = 12
"""Columns narrower than this are not readable; rows are shown as cards instead."""
_MAX_CELL_CHARS = 1000
_MAX_RESULT_CHARS = 32 * 1024 * 1024
"""Largest result that is printed as a table or as JSON: both need it in memory."""


def _check_seconds(_: click.Context, __: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds.")
    return value


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied sql --views", "list views and columns"),
        (
            'leslied sql "SELECT tool_name, count(*) FROM transcript_tools GROUP BY 1"',
            "calls per tool",
        ),
        ('leslied sql "SELECT * FROM error_summary"', "errors and their counts"),
        (
            'leslied sql --csv "SELECT * FROM usage_daily" > usage.csv',
            "for a spreadsheet",
        ),
        ("leslied sql - < query.sql", "read the query from a file"),
    ],
    see_also=["search", "stats", "list"],
)
@click.argument("query", required=False)
@click.option("--views", is_flag=True, help="Show the views and their columns.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most N rows.  [default: {_DEFAULT_LIMIT}; all with --json or --csv]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, max=86400, min_open=True),
    callback=_check_seconds,
    default=SQL_TIMEOUT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Abort the query after this time.",
)
@click.option("--reveal", is_flag=True, help="Show secrets unredacted.")
@csv_option
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Query the store with SQL (SQLite dialect). Read-only.

    QUERY is one SELECT over the views that --views lists, or `-` to read it from
    standard input. See docs/sql.md for more examples.
    """
    as_json, as_csv = options["as_json"], options["as_csv"]
    check_format_options(options)
    if options["views"] or options["query"] is None:
        views = list_views()
        emit(views.to_dict, lambda: _view_lines(views), as_json=as_json)
        return
    limit = options["limit"] or (None if as_json or as_csv else _DEFAULT_LIMIT)
    # `islice` accepts no larger number.
    stop = limit and min(limit, sys.maxsize)
    app = get_app(ctx)
    open_queries = partial(app.open_sql, reveal=options["reveal"])
    query = _read_query(options["query"])
    timeout = options["timeout"]
    with execute_in_child(open_queries, query, timeout, app.clock) as result:
        json_rows = result.iter_json_rows()
        if as_csv:
            print_csv(result.columns, islice(json_rows, stop))
            return
        output_rows = json_rows if as_json else map(_cut_cells, json_rows)
        rows = list(islice(_limit_size(output_rows), stop))
        table = SqlTable(result.columns, rows)
        has_more_rows = limit is not None and next(json_rows, None) is not None
    warnings = []
    if has_more_rows:
        count = format_count(len(table.rows), "row")
        warnings.append(f"There are more than {count}. Show more with -n or --csv.")
    emit(table.to_dict, lambda: _lines(*table), as_json=as_json, warnings=warnings)


def _cut_cells(row: list[Any]) -> list[Any]:
    """Cut long texts, of which a terminal shows only the beginning."""
    return [ellipsize(c, _MAX_CELL_CHARS) if isinstance(c, str) else c for c in row]


def _limit_size(rows: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """Yield the rows; raise UserError if they are too large to be kept in memory."""
    length = 0
    for row in rows:
        length += sum(len(cell) for cell in row if isinstance(cell, str))
        if length > _MAX_RESULT_CHARS:
            raise UserError(
                f"The result is larger than {format_bytes(_MAX_RESULT_CHARS)}.",
                "Print it row by row with --csv, or select fewer or shorter columns.",
            )
        yield row


def _read_query(query: str) -> str:
    if query != "-":
        return query
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _lines(names: tuple[str, ...], rows: list[list[Any]]) -> Iterable[str]:
    if not rows:
        return ["No rows."]
    cells = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    if _is_wide(names, cells):
        return _card_lines(names, cells)
    numeric_names = [
        name
        for index, name in enumerate(names)
        if all(isinstance(row[index], (int, float, type(None))) for row in rows)
    ]
    return format_table(names, cells, flexible=None, right_aligned=numeric_names)


def _is_wide(names: tuple[str, ...], cells: list[list[str]]) -> bool:
    """Return whether even a table with the narrowest readable columns does not fit."""
    widths = (max(map(len, column)) for column in zip(names, *cells, strict=True))
    return not has_room(sum(min(width, _MIN_COLUMN_WIDTH) + 2 for width in widths))


def _card_lines(names: tuple[str, ...], rows: list[list[str]]) -> Iterator[str]:
    """Yield one line per column, row by row, for rows too wide for a table."""
    name_width = max(len(name) for name in names)
    for number, row in enumerate(rows, 1):
        yield click.style(f"row {number}", dim=True)
        for name, cell in zip(names, row, strict=True):
            line = sanitize(cell).replace("\n", " ")
            yield f"  {sanitize(name):<{name_width}}  {line}"


def _view_lines(answer: ViewList) -> Iterator[str]:
    for view in answer.views:
        yield click.style(view.name, bold=True)
        yield f"  {view.about}"
        for column in view.columns:
            yield f"    {column.name:<18}  {column.about}"
        yield ""
    yield 'Example: leslied sql "SELECT title, cost_usd FROM sessions"'
