"""`leslied diff`: compare two sessions, units or subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.diff import render_diff
from leslied.cli.render.output import emit, json_option
from leslied.model.difference import DiffOptions
from leslied.queries import load_units, redact_unit, resolve_id
from leslied.queries.diff import DiffSide, compare_metadata
from leslied.queries.diff_json import fields_to_dicts, units_to_dicts
from leslied.redact.session import redact_summary
from leslied.sessions import compute_status
from leslied.sessions.align import DiffScope, align_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.app import App
    from leslied.store import StoreReader


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied diff last 4f0d9df4", "compare the newest session with another"),
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
    entries that only A has, `+` those that only B has. Adjacent units that are the
    same, such as those that two forks share, are summed up in one line.

    Prompts, answers, tool calls, results, errors, stop reasons and models are compared;
    times and ids are not. Units are paired if they share entries or have similar
    prompts.

    Texts that differ in more than 2,000 lines are not compared line by line, and lines
    of more than 4,000 characters not word by word; the output says so.
    """
    app = get_app(ctx)
    redact = str if options["reveal"] else app.redact
    with app.open_reader() as reader:
        side_a, side_b = (
            _load_side(app, reader, id_prefix, redact) for id_prefix in (a, b)
        )
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
    _emit_diff(side_a, side_b, scope, diff_options, as_json=options["as_json"])


def _emit_diff(
    side_a: DiffSide,
    side_b: DiffSide,
    scope: DiffScope,
    options: DiffOptions,
    *,
    as_json: bool,
) -> None:
    units = align_units(side_a.units, side_b.units, scope)
    metadata = compare_metadata(side_a, side_b)
    data = {
        "a": side_a.to_dict(),
        "b": side_b.to_dict(),
        "is_same": all(unit.status == "same" for unit in units),
        "metadata": fields_to_dicts(metadata),
        "units": units_to_dicts(units, options) if as_json else [],
    }
    emit(data, lambda: render_diff(metadata, units, options), as_json=as_json)


def _load_side(
    app: App, reader: StoreReader, id_prefix: str, redact: Callable[[str], str]
) -> DiffSide:
    """Load and redact the session, unit or subagent that the id names."""
    target = resolve_id(reader, id_prefix, with_costs=True)
    return DiffSide(
        target=target,
        session=redact_summary(target.session, redact),
        units=tuple(redact_unit(unit, redact) for unit in load_units(reader, target)),
        status=compute_status(target.session, app.clock.now()),
    )
