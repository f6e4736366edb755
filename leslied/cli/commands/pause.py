"""`leslied pause`: pause the daemon."""

from __future__ import annotations

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.jobs import pause


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied pause", "pause the daemon"),
        ("leslied unpause", "let it continue"),
    ],
    see_also=["unpause", "status"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Pause the daemon until `leslied unpause`.

    A paused daemon reads and writes nothing, so the machine is free for other work.
    Nothing is lost: entries that agents write in the meantime are read afterwards.
    """
    state = pause(get_app(ctx))
    message = "Paused. Continue with: leslied unpause"
    emit(state.to_dict, lambda: [message], as_json=as_json)
