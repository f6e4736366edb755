"""`leslied unpause`: let a paused daemon continue."""

from __future__ import annotations

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.jobs import unpause


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
    state = unpause(get_app(ctx))
    emit(state.to_dict, lambda: ["Unpaused."], as_json=as_json)
