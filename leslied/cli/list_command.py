"""`leslied list`: the sessions, newest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import (
    emit,
    json_option,
    say_number,
    say_path,
    say_time,
    shorten_ids,
    table,
)
from leslied.lookup import gather_sessions
from leslied.model.codec import plain_session
from leslied.sessions import tell_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from leslied.model.session import SessionSummary

_SHORTEST_ID = 8


_COLUMNS = (
    "ID",
    "AGENT",
    "LAST ACTIVE",
    "STATUS",
    "PROJECT",
    "TITLE",
    "UNITS",
    "TOOLS",
    "OUT",
)


@click.command(
    cls=Command,
    examples=[
        ("leslied list", "all sessions"),
        ("leslied list -n 5", "the five newest"),
        ("leslied list --subagents", "with subagents among them"),
        ("leslied list --json | jq .data.sessions[0]", "the newest, with its cost"),
    ],
    see_also=["show", "search", "stats"],
)
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Show so many.")
@click.option("--subagents", is_flag=True, help="Show subagents too.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, limit: int | None, subagents: bool, as_json: bool
) -> None:
    """Show the sessions, last active first.

    Tokens include the subagents'; what forks share counts once.
    """
    desk = sit_down(ctx)
    now = desk.clock.now()
    with desk.open_reader() as reader:
        all_found = gather_sessions(reader, with_subagents=True, with_costs=as_json)
    found = [s for s in all_found if subagents or not s.is_subagent][:limit]
    shorts = shorten_ids(map(_id_of, all_found))
    sessions = [replace(each, title=desk.redact(each.title)) for each in found]
    home = str(desk.home)
    emit(
        {"sessions": [_plain(session, now) for session in sessions]},
        lambda: _lines(sessions, shorts, now, home),
        as_json=as_json,
    )


def _plain(session: SessionSummary, now: datetime) -> dict[str, Any]:
    plain = plain_session(session, tell_status(session, now), session.cwd)
    plain["unpriced_messages"] = session.cost.unpriced
    if session.is_subagent:
        plain |= {"id": session.subagent_id, "parent": session.key.session_id}
    return plain


def _id_of(session: SessionSummary) -> str:
    return session.subagent_id if session.is_subagent else session.key.session_id


def _lines(
    sessions: list[SessionSummary], shorts: Mapping[str, str], now: datetime, home: str
) -> Iterable[str]:
    if not sessions:
        return ["No sessions yet. Work with an agent, then run: leslied sync"]
    rows = [
        (
            shorts[_id_of(session)],
            session.key.agent,
            say_time(session.ended_at),
            tell_status(session, now),
            say_path(session.cwd, home).rpartition("/")[2] or "-",
            session.title or "-",
            str(session.units),
            str(session.tool_calls),
            say_number(session.usage.output_tokens),
        )
        for session in sessions
    ]
    return table(_COLUMNS, rows, stretch=5, right="UNITS TOOLS OUT")
