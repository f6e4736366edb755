"""`leslied help`: the help of a command, also for those who put the word first."""

from __future__ import annotations

import click

from leslied.cli.help import Command, Group
from leslied.errors import UserError


@click.command(
    cls=Command,
    examples=[
        ("leslied help", "all commands"),
        ("leslied help export", "one of them"),
        ("leslied help service install", "one of a group"),
    ],
)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(ctx: click.Context, *, words: tuple[str, ...]) -> None:
    """Show the help of a command, or all commands.

    It is what `leslied COMMAND --help` shows.
    """
    place = ctx.find_root()
    for word in words:
        if not isinstance(place.command, Group):
            raise UserError(
                f"`{place.command_path}` has no commands of its own.",
                f"Try: {place.command_path} --help",
            )
        _, found, _ = place.command.resolve_command(place, [word])
        if found:
            place = click.Context(found, parent=place, info_name=word)
    click.echo(place.get_help())
