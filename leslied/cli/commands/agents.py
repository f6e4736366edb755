"""`leslied agents`: supported agents, their log folders and read progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, format_table, json_option, sanitize
from leslied.queries.operations.agents import list_agents
from leslied.rendering.humanize import format_ago, format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.app import App
    from leslied.queries.operations.agents import AgentState


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
        ("leslied agents", "show all supported agents"),
        ("leslied agents --json", "print the same as JSON"),
    ],
    see_also=["status", "doctor", "config path"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Show every supported agent, its log folders and how much has been read.

    Use it when an agent's sessions are missing. FOUND is `yes` if at least one of the
    agent's folders, listed below the table, exists. Set other folders in the config
    file; `leslied config path` prints its location.
    """
    app = get_app(ctx)
    with app.open_queries() as queries:
        answer = list_agents(queries)
    emit(answer.to_dict, lambda: _lines(answer.agents, app), as_json=as_json)


def _lines(agents: list[AgentState], app: App) -> Iterator[str]:
    now = app.clock.now()
    rows = [
        (
            agent.name,
            "yes" if agent.found else "no",
            str(agent.logs),
            str(agent.sessions),
            format_ago(agent.last_seen_at, now),
            format_ago(agent.newest_source_at, now),
            format_ago(agent.newest_ingested_at, now),
            str(agent.rejected),
        )
        for agent in agents
    ]
    yield from format_table(
        _COLUMNS,
        rows,
        flexible="AGENT",
        right_aligned=("LOGS", "SESSIONS", "REJECTED"),
        droppable=("NEWEST READ", "NEWEST LOG", "REJECTED", "LAST SEEN"),
    )
    yield ""
    for agent in agents:
        for root in agent.roots:
            path = sanitize(format_path(root.path, str(app.home)))
            notes = "" if root.exists else " (missing)"
            notes += " (learned from a hook)" if root.is_learned else ""
            yield f"{agent.title}: {path}{notes}"
