"""`leslied follow`: sessions as they happen."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import clean
from leslied.cli.page import entry_lines
from leslied.lookup import redact_placed, resolve
from leslied.store import read_lock

if TYPE_CHECKING:
    from leslied.model.record import Placed

_PAUSE = 0.3


@click.command(
    cls=Command,
    examples=[
        ("leslied follow", "all sessions, in a second terminal"),
        ("leslied follow last", "only the newest"),
    ],
    see_also=["show", "run", "service"],
)
@click.argument("wanted", metavar="[ID]", required=False)
@click.option("--once", is_flag=True, hidden=True)
@click.pass_context
def command(ctx: click.Context, *, wanted: str | None, once: bool) -> None:
    """Show what is said and done in all sessions, or in one, from now on.

    The daemon must run. Each line is labelled with its session; Ctrl-C ends it.
    """
    desk = sit_down(ctx)
    if not once and read_lock(desk.places.store_file) is None:
        click.echo("The daemon does not run: nothing new will come.", err=True)
    with desk.open_reader() as reader:
        only = resolve(reader, wanted).session.key.session_id if wanted else ""
        newest = 0 if once else reader.newest()
        while True:
            for placed in reader.after(newest):
                newest = placed.placement
                _tell(redact_placed(placed, desk.redact), only)
            if once or threading.Event().wait(_PAUSE):
                return


def _tell(placed: Placed, only: str) -> None:
    key = placed.record.session
    if only and key.session_id != only:
        return
    label = key.session_id[:8]
    if key.source != "main":
        label += "/" + key.source.partition(":")[2][:6]
    for line in entry_lines(placed.record, "", is_full=False):
        if line.strip():
            click.echo(click.style(clean(f"{label:<15} "), dim=True) + line)
