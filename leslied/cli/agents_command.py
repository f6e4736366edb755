"""`leslied agents`: which agents are read, where, and how far."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.agents_view import list_agents
from leslied.cli.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.output import (
    emit,
    format_ago,
    format_path,
    format_table,
    json_option,
    parse_time,
    sanitize,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.cli.app import App


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
    cls=LesliedCommand,
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
    app = get_app(ctx)
    settings = app.load_settings()
    is_new = not app.paths.store_file.exists()
    with nullcontext() if is_new else app.open_reader() as reader:
        agents = list_agents(app, settings, reader)
    emit({"agents": agents}, lambda: _lines(agents, app), as_json=as_json)


def _lines(agents: list[dict[str, Any]], app: App) -> Iterator[str]:
    now = app.clock.now()
    rows = [
        (
            agent["name"],
            "yes" if agent["found"] else "no",
            str(agent["logs"]),
            str(agent["sessions"]),
            *(
                format_ago(parse_time(at), now)
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
    yield from format_table(
        _COLUMNS, rows, stretch=0, right_aligned=right, droppable=least
    )
    yield ""
    for agent in agents:
        for root in agent["roots"]:
            where = sanitize(format_path(root["path"], str(app.home)))
            yield f"{agent['title']}: {where}{'' if root['exists'] else ' (not there)'}"
