"""`leslied list`: the sessions, newest first."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.cli.desk import sit_down
from leslied.cli.filters import filter_options, read_filters, say_nothing
from leslied.cli.help import Command
from leslied.cli.output import (
    emit,
    json_option,
    say_cost,
    say_number,
    say_path,
    say_time,
    shorten_ids,
    table,
)
from leslied.errors import UserError
from leslied.lookup import list_sessions
from leslied.model.codec import session_to_dict
from leslied.model.query import Order, Selection
from leslied.redact.session import redact_summary
from leslied.sessions import compute_status, stopped_before_us

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leslied.cli.desk import Desk
    from leslied.model.session import SessionSummary

_SCREENFUL = 50
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
    cls=Command,
    examples=[
        ("leslied list", "the latest sessions"),
        ("leslied list --project . --since 7d", "this folder's, of the last week"),
        ("leslied list --sort cost -n 5", "the five dearest"),
        ("leslied list --status active", "those at work now"),
        ("leslied list --json | jq .data.sessions[0]", "the newest, with its cost"),
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
    help="What comes first.",
)
@click.option("--reverse", "is_reversed", is_flag=True, help="What comes last, first.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show so many; without it {_SCREENFUL}, as JSON all.",
)
@click.option("--all", "has_all", is_flag=True, help="Show all.")
@click.option("--subagents", is_flag=True, help="Show subagents too.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **asked: Any) -> None:
    """Show the sessions, last active first.

    Tokens include the subagents'; what forks share counts once. Filters narrow the
    list down: all of those given must hold.
    """
    desk = sit_down(ctx)
    as_json = asked["as_json"]
    wanted = _select(desk, asked)
    with desk.open_reader() as reader:
        found = list_sessions(
            reader, wanted, with_subagents=asked["subagents"], with_costs=as_json
        )
        ids = (
            [] if as_json else reader.list_similar_ids([_id_of(each) for each in found])
        )
    now = desk.clock.now()
    shown = None if as_json or wanted.limit is None else wanted.limit - 1
    # Most folders and models are those of the session before.
    redact = lru_cache(maxsize=4096)(desk.redact)
    sessions = [redact_summary(each, redact) for each in found[:shown]]
    emit(
        {"sessions": [_plain(each, now) for each in sessions]} if as_json else {},
        lambda: _lines(
            desk, sessions, ids, wanted, has_more=len(found) > len(sessions)
        ),
        as_json=as_json,
    )


def _select(desk: Desk, asked: dict[str, Any]) -> Selection:
    if asked["has_all"] and asked["limit"]:
        raise UserError("Either --all or --limit, not both.", "Leave one of them out.")
    limit = asked["limit"]
    if not asked["as_json"] and not asked["has_all"]:
        # One more than is shown tells whether there are more.
        limit = (limit or _SCREENFUL) + 1
    return Selection(
        filters=read_filters(desk, asked),
        order=asked["order"],
        is_reversed=asked["is_reversed"],
        limit=limit,
        quiet_us=stopped_before_us(desk.clock.now()),
    )


def _plain(session: SessionSummary, now: datetime) -> dict[str, Any]:
    plain = session_to_dict(session, compute_status(session, now), session.cwd)
    plain["unpriced_messages"] = session.cost.unpriced
    if session.is_subagent:
        plain |= {"id": session.subagent_id, "parent": session.key.session_id}
    return plain


def _id_of(session: SessionSummary) -> str:
    return session.subagent_id if session.is_subagent else session.key.session_id


def _lines(
    desk: Desk,
    sessions: list[SessionSummary],
    ids: list[str],
    wanted: Selection,
    *,
    has_more: bool,
) -> Iterator[str]:
    if not sessions:
        yield say_nothing(wanted.filters)
        return
    shorts = shorten_ids(map(_id_of, sessions), ids)
    now, home = desk.clock.now(), str(desk.home)
    shows_cost = wanted.order == "cost"
    rows = [
        (
            shorts[_id_of(session)],
            session.key.agent,
            say_time(session.ended_at),
            compute_status(session, now),
            say_path(session.cwd, home).rpartition("/")[2] or "-",
            _say_title(session),
            str(session.units),
            str(session.tool_calls),
            say_cost(session.cost) if shows_cost else _say_out(session),
        )
        for session in sessions
    ]
    last = "COST" if shows_cost else "OUT"
    yield from table(
        (*_COLUMNS, last),
        rows,
        stretch=5,
        right=f"UNITS TOOLS {last}",
        least=("OUT", "TOOLS", "UNITS", "AGENT", "STATUS", "PROJECT"),
    )
    if has_more:
        yield click.style("There are more; --all shows them.", dim=True)


def _say_title(session: SessionSummary) -> str:
    title = session.title or "-"
    return f"↳ {title}" if session.is_subagent else title


def _say_out(session: SessionSummary) -> str:
    return say_number(session.usage.output_tokens)
