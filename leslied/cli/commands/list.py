"""`leslied list`: a table of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click
from msgspec.structs import replace

from leslied.app import get_app
from leslied.cli.completion import complete_tag
from leslied.cli.filters import (
    NO_MATCH,
    filter_options,
    format_no_sessions,
    parse_filters,
)
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_table, format_time, json_option
from leslied.errors import UserError
from leslied.model.query import Order, Selection
from leslied.queries.annotations import select_marked
from leslied.queries.session_list import load_session_list, select_waiting
from leslied.queries.short_ids import make_short_ids
from leslied.rendering.humanize import (
    format_cost,
    format_count,
    format_number,
    format_path,
    format_status,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leslied.app import App
    from leslied.model.session import SessionSummary
    from leslied.queries.session_list import ListedSession, SessionList

_DEFAULT_LIMIT = 50
_COLUMNS = (
    "ID",
    "AGENT",
    "LAST ACTIVE",
    "STATUS",
    "PROJECT",
    "TITLE",
    "UNITS",
    "TOOLS",
)


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied list", "the sessions that were active last"),
        ("leslied list --project . --since 7d", "this project, last 7 days"),
        ("leslied list --sort cost -n 5", "the five most expensive sessions"),
        ("leslied list --status active", "sessions that are active now"),
        ("leslied list --waiting", "sessions that wait for you"),
        (
            "leslied list --json | jq .data.sessions[0]",
            "the last active one, with its cost",
        ),
    ],
    see_also=["show", "search", "stats"],
)
@filter_options
@click.option(
    "--sort",
    "order",
    type=click.Choice(get_args(Order)),
    default="recent",
    show_default=True,
    help="Set the sort order.",
)
@click.option("--reverse", "is_reversed", is_flag=True, help="Reverse the sort order.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most N sessions.  [default: {_DEFAULT_LIMIT}; all with --json]",
)
@click.option(
    "--all",
    "show_all",
    is_flag=True,
    help="Show all sessions, also those with neither a prompt nor an answer. "
    "Lifts the limit.",
)
@click.option("--starred", is_flag=True, help="Limit to sessions with a star.")
@click.option(
    "--tag",
    metavar="TAG",
    shell_complete=complete_tag,
    help="Limit to sessions with this tag.",
)
@click.option(
    "--waiting",
    is_flag=True,
    help="Limit to sessions that need you: they ask for a permission or an answer, or "
    "a hook reported that they wait for a prompt. --status idle lists all sessions "
    "whose turn has ended, with or without such a report.",
)
@click.option("--subagents", is_flag=True, help="List subagents too.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Show sessions, most recently active first.

    Token counts include subagents. If a session was forked from another, the tokens of
    copied messages count for the original session only. A session is listed if it
    matches all filters. Sessions with neither a prompt nor an answer are hidden: only
    their number is shown, below the table (`hidden_sessions` in JSON). --all lists
    them.
    """
    app = get_app(ctx)
    as_json = options["as_json"]
    selection = _make_selection(app, options)
    with app.open_queries() as queries:
        keys = select_marked(queries, is_starred=options["starred"], tag=options["tag"])
        if options["waiting"]:
            waiting_keys = select_waiting(queries)
            # None selects all sessions.
            keys = waiting_keys if keys is None else tuple({*keys} & {*waiting_keys})
        selection = replace(selection, only=keys)
        answer = load_session_list(
            queries,
            selection,
            with_subagents=options["subagents"],
            with_costs=as_json,
        )
        short_ids = (
            {} if as_json else make_short_ids(queries, [s.id for s in answer.sessions])
        )
    emit(
        answer.to_dict,
        lambda: _lines(app, answer, short_ids, selection),
        as_json=as_json,
    )


def _make_selection(app: App, options: dict[str, Any]) -> Selection:
    if options["show_all"] and options["limit"]:
        raise UserError("--all cannot be combined with --limit.", "Choose one of them.")
    limit = options["limit"]
    if not options["as_json"] and not options["show_all"]:
        limit = limit or _DEFAULT_LIMIT
    return Selection(
        filters=parse_filters(app, options),
        order=options["order"],
        is_reversed=options["is_reversed"],
        limit=limit,
        with_hidden=options["show_all"],
    )


def _lines(
    app: App, answer: SessionList, short_ids: Mapping[str, str], selection: Selection
) -> Iterator[str]:
    if not answer.sessions:
        is_filtered = selection.filters or selection.only is not None
        yield NO_MATCH if is_filtered else format_no_sessions(())
        yield from _hidden_lines(answer)
        return
    home, shows_cost = str(app.home), selection.order == "cost"
    rows = [
        (
            short_ids[session.id],
            summary.key.agent,
            format_time(summary.ended_at),
            format_status(session),
            format_path(summary.project, home).rpartition("/")[2] or "-",
            _format_title(session),
            str(summary.current_units),
            str(summary.tool_calls),
            format_cost(summary.cost) if shows_cost else _format_output_tokens(summary),
        )
        for session in answer.sessions
        for summary in [session.summary]
    ]
    last_column = "COST" if shows_cost else "OUT"
    yield from format_table(
        (*_COLUMNS, last_column),
        rows,
        flexible="TITLE",
        right_aligned=("UNITS", "TOOLS", last_column),
        droppable=("OUT", "TOOLS", "UNITS", "AGENT", "STATUS", "PROJECT"),
    )
    if answer.has_more:
        yield click.style("There are more sessions. Show them with --all.", dim=True)
    yield from _hidden_lines(answer)


def _hidden_lines(answer: SessionList) -> Iterator[str]:
    """Yield how many sessions are hidden; they have neither a prompt nor an answer."""
    if answer.hidden:
        count = format_count(answer.hidden, "session")
        text = f"{count} without a prompt hidden. Show all with --all."
        yield click.style(text, dim=True)


def _format_title(session: ListedSession) -> str:
    title = session.summary.title or "-"
    star = "★ " if session.marks.starred else ""
    tags = "".join(f" #{tag}" for tag in session.marks.tags)
    return f"↳ {title}" if session.summary.is_subagent else f"{star}{title}{tags}"


def _format_output_tokens(summary: SessionSummary) -> str:
    return format_number(summary.usage.output_tokens)
