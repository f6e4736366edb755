"""Commands whose help reads like a small man page, and which guess what was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_EXAMPLE_WIDTH = 42
_MAX_SENTENCE_CHARS = 200


class LesliedCommand(click.Command):
    """A command with examples, exit codes of its own, and what to read next."""

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
        """What to type, and what it does."""
        self.exit_codes = exit_codes
        """Only those that mean something else than with every command."""
        self.see_also = see_also
        """Other commands, without `leslied` before them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections after the options."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_dl(self.examples, col_max=_MAX_EXAMPLE_WIDTH)
        if self.exit_codes:
            with formatter.section("Exit codes"):
                formatter.write_dl([(str(code), why) for code, why in self.exit_codes])
        if self.see_also:
            with formatter.section("See also"):
                names = ", ".join(f"leslied {name}" for name in self.see_also)
                formatter.write_text(names)
        super().format_epilog(ctx, formatter)


class LesliedGroup(LesliedCommand, click.Group):
    """Commands under one name; alone, the name tells which there are."""

    command_class = LesliedCommand

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands, in the order they were written down."""
        return list(self.commands)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Each command with its whole first sentence."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (n, c.get_short_help_str(_MAX_SENTENCE_CHARS))
                    for n, c in found.items()
                    if c
                ]
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words, taken apart; without any, the help is all there is to say."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names, or a guess at what was meant."""
        word = args[0]
        is_known = self.get_command(ctx, word) is not None
        if is_known or ctx.resilient_parsing or not word[:1].isalnum():
            return super().resolve_command(ctx, args)
        raise UserError(
            f"There is no command `{ctx.command_path} {word}`.",
            self._suggest(ctx, word),
        )

    def _suggest(self, ctx: click.Context, word: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - few mistype

        near = get_close_matches(word, self.list_commands(ctx), n=2)
        if not near:
            return f"See which there are: {ctx.command_path} --help"
        return f"Did you mean `{'` or `'.join(near)}`?"
