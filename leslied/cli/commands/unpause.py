"""`leslied unpause`: let a paused daemon continue."""

from __future__ import annotations

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied unpause", "let the daemon continue"),
    ],
    see_also=["pause", "status"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Let a paused daemon continue where it stopped."""
    get_app(ctx).paths.pause_file.unlink(missing_ok=True)
    emit({"paused": False}, lambda: ["Unpaused."], as_json=as_json)
