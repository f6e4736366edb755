"""`leslied unpause`: the daemon goes on."""

from __future__ import annotations

import click

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import emit, json_option


@click.command(
    cls=Command,
    examples=[
        ("leslied unpause", "let it go on"),
    ],
    see_also=["pause", "status"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Let a paused daemon go on, from where it was."""
    sit_down(ctx).places.pause_file.unlink(missing_ok=True)
    emit({"paused": False}, lambda: ["Going on."], as_json=as_json)
