"""`leslied agents`: which agents are read, where, and how far."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.agents_view import gather_agents
from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import (
    clean,
    emit,
    json_option,
    read_time,
    say_ago,
    say_path,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.desk import Desk


_COLUMNS = (
    "AGENT",
    "FOUND",
    "LOGS",
    "SESSIONS",
    "LAST SEEN",
    "NEWEST LOG",
    "NEWEST READ",
    "REJECTED",
)


@click.command(
    cls=Command,
    examples=[
        ("leslied agents", "every agent, found or not"),
        ("leslied agents --json", "the same for a script"),
    ],
    see_also=["status", "doctor", "config path"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Show every agent leslied can read: found or not, where, and how far it is read.

    For when an agent's sessions are missing: FOUND says whether any of its folders,
    told below the table, is there. Other folders than the usual ones are set in the
    config file, see `leslied config path`.
    """
    desk = sit_down(ctx)
    settings = desk.load_settings()
    is_new = not desk.places.store_file.exists()
    with nullcontext() if is_new else desk.open_reader() as reader:
        agents = gather_agents(desk, settings, reader)
    emit({"agents": agents}, lambda: _lines(agents, desk), as_json=as_json)


def _lines(agents: list[dict[str, Any]], desk: Desk) -> Iterator[str]:
    now = desk.clock.now()
    rows = [
        (
            agent["name"],
            "yes" if agent["found"] else "no",
            str(agent["logs"]),
            str(agent["sessions"]),
            *(
                say_ago(read_time(at), now)
                for at in (
                    agent["last_seen_at"],
                    agent["newest_source_at"],
                    agent["newest_ingested_at"],
                )
            ),
            str(agent["rejected"]),
        )
        for agent in agents
    ]
    least = ("NEWEST READ", "NEWEST LOG", "REJECTED", "LAST SEEN")
    right = "LOGS SESSIONS REJECTED"
    yield from table(_COLUMNS, rows, stretch=0, right=right, least=least)
    yield ""
    for agent in agents:
        for root in agent["roots"]:
            where = clean(say_path(root["path"], str(desk.home)))
            yield f"{agent['title']}: {where}{'' if root['exists'] else ' (not there)'}"
