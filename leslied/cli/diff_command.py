"""`leslied diff`: two sessions, units or subagents, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.cli.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.diff_json import fields_to_dicts, units_to_dicts
from leslied.cli.diff_summary import DiffSide, compare_metadata
from leslied.cli.diff_text import DiffOptions, render_diff
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, json_option
from leslied.lookup import load_units, redact_unit, resolve_id
from leslied.redact.session import redact_summary
from leslied.sessions import compute_status
from leslied.sessions.align import DiffScope, align_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.cli.app import App
    from leslied.store import StoreReader


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied diff last 4f0d9df4", "the newest session beside another"),
        ("leslied diff 4f0d9df4 1ae3259b --summary", "only which units differ"),
        ("leslied diff chat-51c2 chat-90ab -U 10", "two units, with more around"),
        ("leslied diff last 4f0d9df4 --json | jq .data.is_same", "for a script"),
    ],
    exit_codes=[(0, "compared, whether they differ or not: see data.is_same")],
    see_also=["show", "replay", "threads"],
)
@click.argument("a", metavar="A", shell_complete=complete_session)
@click.argument("b", metavar="B", shell_complete=complete_session)
@click.option("--summary", is_flag=True, help="Tell which units differ, not how.")
@click.option(
    "-U",
    "--context",
    metavar="N",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Show so many equal lines around each change.",
)
@click.option("--thinking", is_flag=True, help="Compare what the agents thought, too.")
@click.option("--no-subagents", is_flag=True, help="Leave subagents out.")
@click.option("--full", is_flag=True, help="Show long texts and long lines uncut.")
@click.option("--reveal", is_flag=True, help="Show secrets as they are in the log.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, a: str, b: str, **options: Any) -> None:
    """Compare two sessions, units or subagents: what was asked, said and done.

    A and B are ids as `leslied show` takes them: any unique beginning will do, or
    `last`. First come the facts about both, side by side, then what differs, unit by
    unit: `-` marks what only A has, `+` what only B has. What two forks of a session
    share is told in one line.

    Prompts, answers, calls, results, errors, stop reasons and models are compared.
    Other times and other ids are no difference. Units belong together that share
    entries, or whose prompts are alike.

    Texts that differ over more than 2,000 lines are not compared line by line, and
    lines of more than 4,000 characters not word by word: it says so where it happens.
    """
    app = get_app(ctx)
    redact = str if options["reveal"] else app.redact
    with app.open_reader() as reader:
        ours, theirs = (_load(app, reader, wanted, redact) for wanted in (a, b))
    scope = DiffScope(
        include_thinking=options["thinking"],
        include_subagents=not options["no_subagents"],
    )
    units = align_units(ours.units, theirs.units, scope)
    facts = compare_metadata(ours, theirs)
    diff_options = DiffOptions(
        context=options["context"],
        is_full=options["full"],
        is_summary=options["summary"],
        home=str(app.home),
    )
    data = {
        "a": ours.to_dict(),
        "b": theirs.to_dict(),
        "is_same": all(unit.status == "same" for unit in units),
        "metadata": fields_to_dicts(facts),
        "units": units_to_dicts(units, diff_options) if options["as_json"] else [],
    }
    emit(
        data,
        lambda: render_diff(facts, units, diff_options),
        as_json=options["as_json"],
    )


def _load(
    app: App, reader: StoreReader, wanted: str, redact: Callable[[str], str]
) -> DiffSide:
    """What the id names, as it may be shown."""
    found = resolve_id(reader, wanted, with_costs=True)
    return DiffSide(
        target=found,
        session=redact_summary(found.session, redact),
        units=tuple(redact_unit(unit, redact) for unit in load_units(reader, found)),
        status=compute_status(found.session, app.clock.now()),
    )
