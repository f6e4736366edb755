"""Click commands and groups with examples, exit codes and spelling suggestions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_EXAMPLE_WIDTH = 42
"""The description of a longer example is shown on the line below it."""
_MAX_SENTENCE_CHARS = 200
"""More than any first sentence has, so that Click abridges none."""


class LesliedCommand(click.Command):
    """Command whose help shows examples, exit codes and related commands."""

    def __init__(
        self,
        *args: Any,
        examples: Sequence[tuple[str, str]] = (),
        exit_codes: Sequence[tuple[int, str]] = (),
        see_also: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.examples = examples
        """Pairs of a command line and its description."""
        self.exit_codes = exit_codes
        """Exit codes whose meaning is specific to this command."""
        self.see_also = see_also
        """Names of related commands, without `leslied`."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections after the options."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_dl(self.examples, col_max=_MAX_EXAMPLE_WIDTH)
        if self.exit_codes:
            with formatter.section("Exit codes"):
                rows = [(str(code), meaning) for code, meaning in self.exit_codes]
                formatter.write_dl(rows)
        if self.see_also:
            with formatter.section("See also"):
                names = ", ".join(f"leslied {name}" for name in self.see_also)
                formatter.write_text(names)
        super().format_epilog(ctx, formatter)


class LesliedGroup(LesliedCommand, click.Group):
    """Group of commands that prints its help when called without a command."""

    command_class = LesliedCommand

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the command names in the order of their definition."""
        return list(self.commands)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write each command with the first sentence of its help, unabridged."""
        rows = [
            (name, command.get_short_help_str(_MAX_SENTENCE_CHARS))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help and exit.

        A group with `invoke_without_command` runs instead of printing its help.
        """
        needs_command = not (ctx.resilient_parsing or self.invoke_without_command)
        if not args and needs_command:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names.

        Raises UserError with a suggestion if the command does not exist.
        """
        name = args[0]
        exists = self.get_command(ctx, name) is not None
        # Click itself reports arguments that look like an option.
        if exists or ctx.resilient_parsing or not name[:1].isalnum():
            return super().resolve_command(ctx, args)
        raise UserError(
            f"There is no command `{ctx.command_path} {name}`.",
            self._suggest_command(ctx, name),
        )

    def _suggest_command(self, ctx: click.Context, name: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - rarely needed

        matches = get_close_matches(name, self.list_commands(ctx), n=2)
        if not matches:
            return f"List all commands with: {ctx.command_path} --help"
        return f"Did you mean `{'` or `'.join(matches)}`?"
