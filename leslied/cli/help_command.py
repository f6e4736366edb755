"""`leslied help`: the help of a command, also for those who put the word first."""

from __future__ import annotations

import click

from leslied.cli.help import LesliedCommand, LesliedGroup
from leslied.errors import UserError


@click.command(
    cls=LesliedCommand,
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
    context = ctx.find_root()
    for word in words:
        if not isinstance(context.command, LesliedGroup):
            raise UserError(
                f"`{context.command_path}` has no commands of its own.",
                f"Try: {context.command_path} --help",
            )
        _, found, _ = context.command.resolve_command(context, [word])
        if found:
            context = click.Context(found, parent=context, info_name=word)
    click.echo(context.get_help())
