"""`leslied list`: a table of sessions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.app import get_app
from leslied.cli.filters import filter_options, format_no_sessions, parse_filters
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_cost,
    format_number,
    format_path,
    format_table,
    format_time,
    json_option,
    shorten_ids,
)
from leslied.errors import UserError
from leslied.model.codec import session_to_dict
from leslied.model.query import Order, Selection
from leslied.queries import list_sessions
from leslied.redact.session import redact_summary
from leslied.sessions import compute_status, compute_stop_cutoff_us

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.app import App
    from leslied.model.session import SessionSummary

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
        ("leslied list", "the latest sessions"),
        ("leslied list --project . --since 7d", "this folder, last 7 days"),
        ("leslied list --sort cost -n 5", "the five most expensive sessions"),
        ("leslied list --status active", "sessions that are active now"),
        ("leslied list --json | jq .data.sessions[0]", "the newest one, with its cost"),
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
@click.option("--all", "show_all", is_flag=True, help="Show all sessions.")
@click.option("--subagents", is_flag=True, help="List subagents too.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Show sessions, most recently active first.

    Token counts include subagents. A message that two sessions share, because one was
    forked from the other, is counted once. A session is listed if it matches all
    filters.
    """
    app = get_app(ctx)
    as_json = options["as_json"]
    selection = _make_selection(app, options)
    with app.open_reader() as reader:
        summaries = list_sessions(
            reader, selection, with_subagents=options["subagents"], with_costs=as_json
        )
        similar_ids = (
            []
            if as_json
            else reader.list_similar_ids([_get_id(each) for each in summaries])
        )
    now = app.clock.now()
    visible_limit = None if as_json or selection.limit is None else selection.limit - 1
    # Cache redaction, because folders and models repeat from session to session.
    redact = lru_cache(maxsize=4096)(app.redact)
    sessions = [redact_summary(each, redact) for each in summaries[:visible_limit]]
    emit(
        {"sessions": [_session_to_dict(each, now) for each in sessions]}
        if as_json
        else {},
        lambda: _lines(
            app,
            sessions,
            similar_ids,
            selection,
            has_more=len(summaries) > len(sessions),
        ),
        as_json=as_json,
    )


def _make_selection(app: App, options: dict[str, Any]) -> Selection:
    if options["show_all"] and options["limit"]:
        raise UserError("--all cannot be combined with --limit.", "Choose one of them.")
    limit = options["limit"]
    if not options["as_json"] and not options["show_all"]:
        # Load one session more than is shown, to know whether there are more.
        limit = (limit or _DEFAULT_LIMIT) + 1
    return Selection(
        filters=parse_filters(app, options),
        order=options["order"],
        is_reversed=options["is_reversed"],
        limit=limit,
        stop_cutoff_us=compute_stop_cutoff_us(app.clock.now()),
    )


def _session_to_dict(session: SessionSummary, now: datetime) -> dict[str, Any]:
    data = session_to_dict(session, compute_status(session, now), session.cwd)
    data["unpriced_messages"] = session.cost.unpriced
    if session.is_subagent:
        data |= {"id": session.subagent_id, "parent": session.key.session_id}
    return data


def _get_id(session: SessionSummary) -> str:
    return session.subagent_id if session.is_subagent else session.key.session_id


def _lines(
    app: App,
    sessions: list[SessionSummary],
    similar_ids: list[str],
    selection: Selection,
    *,
    has_more: bool,
) -> Iterator[str]:
    if not sessions:
        yield format_no_sessions(selection.filters)
        return
    short_ids = shorten_ids(map(_get_id, sessions), similar_ids)
    now, home = app.clock.now(), str(app.home)
    shows_cost = selection.order == "cost"
    rows = [
        (
            short_ids[_get_id(session)],
            session.key.agent,
            format_time(session.ended_at),
            compute_status(session, now),
            format_path(session.cwd, home).rpartition("/")[2] or "-",
            _format_title(session),
            str(session.units),
            str(session.tool_calls),
            format_cost(session.cost) if shows_cost else _format_output_tokens(session),
        )
        for session in sessions
    ]
    last_column = "COST" if shows_cost else "OUT"
    yield from format_table(
        (*_COLUMNS, last_column),
        rows,
        stretch=5,
        right_aligned=("UNITS", "TOOLS", last_column),
        droppable=("OUT", "TOOLS", "UNITS", "AGENT", "STATUS", "PROJECT"),
    )
    if has_more:
        yield click.style("There are more sessions. Show them with --all.", dim=True)


def _format_title(session: SessionSummary) -> str:
    title = session.title or "-"
    return f"↳ {title}" if session.is_subagent else title


def _format_output_tokens(session: SessionSummary) -> str:
    return format_number(session.usage.output_tokens)
