"""`leslied show`: one session, unit or subagent, to read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import emit, json_option
from leslied.cli.page import page_lines
from leslied.lookup import load_units, redact_unit, resolve, tell_resume
from leslied.model.codec import plain_session, plain_unit
from leslied.sessions import tell_status


@click.command(
    cls=Command,
    examples=[
        ("leslied show last", "read the newest session"),
        ("leslied show 5e551e11", "one, by the beginning of its id"),
        ("leslied show chat-01922cb7 --full", "one unit, uncut and with thinking"),
        ("leslied show last --json", "all of it for a script"),
    ],
    see_also=["list", "search", "export", "resume"],
)
@click.argument("wanted", metavar="ID|last")
@click.option("--full", is_flag=True, help="Show everything, thinking included, uncut.")
@click.option("--reveal", is_flag=True, help="Show secrets as they are in the log.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, wanted: str, full: bool, reveal: bool, as_json: bool
) -> None:
    """Show a session by its id, thread id, chat id or subagent id, or the last one.

    Any unique beginning of an id will do; `leslied list` shows them.
    """
    desk = sit_down(ctx)
    with desk.open_reader() as reader:
        found = resolve(reader, wanted, with_costs=True)
        units = load_units(reader, found)
    session = found.session
    if not reveal:
        session = replace(session, title=desk.redact(session.title))
        units = tuple(redact_unit(unit, desk.redact) for unit in units)
    status = tell_status(session, desk.clock.now())
    resume = tell_resume(session)
    data: dict[str, Any] = {
        "session": plain_session(session, status, session.cwd)
        | {"unpriced_messages": session.cost.unpriced},
        "units": [plain_unit(unit) for unit in units] if as_json else [],
        "resume_command": resume or None,
    }
    home = str(desk.home)
    emit(
        data,
        lambda: page_lines(session, units, status, home, is_full=full, resume=resume),
        as_json=as_json,
    )
