"""`leslied help COMMAND`: the same output as `leslied COMMAND --help`."""

from __future__ import annotations

import click

from leslied.cli.help import LesliedCommand, LesliedGroup
from leslied.errors import UserError


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied help", "list all commands"),
        ("leslied help export", "show help for `leslied export`"),
        ("leslied help service install", "show help for a subcommand"),
    ],
)
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(ctx: click.Context, *, names: tuple[str, ...]) -> None:
    """Show help for a command, or list all commands.

    `leslied help COMMAND` is the same as `leslied COMMAND --help`.
    """
    context = ctx.find_root()
    for name in names:
        if not isinstance(context.command, LesliedGroup):
            raise UserError(
                f"`{context.command_path}` has no subcommands.",
                f"Try: {context.command_path} --help",
            )
        _, subcommand, _ = context.command.resolve_command(context, [name])
        if subcommand:
            context = click.Context(subcommand, parent=context, info_name=name)
    click.echo(context.get_help())
