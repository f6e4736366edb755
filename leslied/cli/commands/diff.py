"""`leslied diff`: compare two sessions, units or subagents."""

from __future__ import annotations

from typing import Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.diff import render_diff
from leslied.cli.render.output import emit, json_option
from leslied.model.difference import DiffOptions
from leslied.queries.diff import DiffScope, compare_sessions


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied diff last 4f0d9df4", "compare the last active session with another"),
        ("leslied diff 4f0d9df4 1ae3259b --summary", "list the units that differ"),
        ("leslied diff chat-51c2 chat-90ab -U 10", "show ten lines of context"),
        ("leslied diff last 4f0d9df4 --json | jq .data.is_same", "use in a script"),
    ],
    exit_codes=[(0, "compared, with or without differences; see data.is_same")],
    see_also=["show", "replay", "threads"],
)
@click.argument("a", metavar="A", shell_complete=complete_session)
@click.argument("b", metavar="B", shell_complete=complete_session)
@click.option("--summary", is_flag=True, help="Show which units differ, not how.")
@click.option(
    "-U",
    "--context",
    metavar="N",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Show N unchanged lines around each change.",
)
@click.option("--thinking", is_flag=True, help="Compare thinking too.")
@click.option("--no-subagents", is_flag=True, help="Do not compare subagents.")
@click.option("--full", is_flag=True, help="Do not truncate long texts and lines.")
@click.option("--reveal", is_flag=True, help="Do not redact secrets.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Compare two sessions, units or subagents.

    A and B are ids as for `leslied show`: any unique prefix, or `last`. The output
    starts with the metadata of both, followed by the units that differ: `-` marks
    entries that only A has, `+` those that only B has. Consecutive units that
    are the same in A and B, such as those that two forks share, are one line.

    Prompts, answers, tool calls, results, errors, stop reasons and models are compared;
    times and ids are not. Units are paired if they share entries or have similar
    prompts.

    Texts that differ in more than 2,000 lines are not compared line by line, and lines
    of more than 4,000 characters not word by word; the output says so.
    """
    app = get_app(ctx)
    scope = DiffScope(
        include_thinking=options["thinking"],
        include_subagents=not options["no_subagents"],
    )
    diff_options = DiffOptions(
        context=options["context"],
        is_full=options["full"],
        is_summary=options["summary"],
        home=str(app.home),
    )
    with app.open_queries(reveal=options["reveal"]) as queries:
        diff = compare_sessions(queries, a, b, scope)
    emit(
        lambda: diff.to_dict(diff_options),
        lambda: render_diff(diff.metadata, diff.units, diff_options),
        as_json=options["as_json"],
    )
