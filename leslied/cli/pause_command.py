"""`leslied pause`: the daemon rests."""

from __future__ import annotations

import click

from leslied.cli.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, json_option
from leslied.paths import make_private_dir


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied pause", "let it rest"),
        ("leslied unpause", "let it go on"),
    ],
    see_also=["unpause", "status"],
)
@json_option
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Let the daemon read and write nothing until `leslied unpause`.

    For when the machine has better things to do. What agents write meanwhile is read
    afterwards; nothing is lost.
    """
    file = get_app(ctx).paths.pause_file
    make_private_dir(file.parent)
    file.touch(mode=0o600)
    message = "Paused. Go on with: leslied unpause"
    emit({"paused": True}, lambda: [message], as_json=as_json)
