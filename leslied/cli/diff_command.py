"""`leslied diff`: two sessions, units or subagents, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from leslied.cli.completion import complete_session
from leslied.cli.desk import sit_down
from leslied.cli.diff_facts import Side, compare_facts
from leslied.cli.diff_plain import plain_facts, plain_units
from leslied.cli.diff_view import Look, difference_lines
from leslied.cli.help import Command
from leslied.cli.output import emit, json_option
from leslied.lookup import load_units, redact_unit, resolve_id
from leslied.redact.session import redact_summary
from leslied.sessions import compute_status
from leslied.sessions.align import DiffScope, align_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.cli.desk import Desk
    from leslied.store import StoreReader


@click.command(
    cls=Command,
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
def command(ctx: click.Context, /, a: str, b: str, **asked: Any) -> None:
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
    desk = sit_down(ctx)
    redact = str if asked["reveal"] else desk.redact
    with desk.open_reader() as reader:
        ours, theirs = (_load(desk, reader, wanted, redact) for wanted in (a, b))
    scope = DiffScope(
        include_thinking=asked["thinking"], include_subagents=not asked["no_subagents"]
    )
    units = align_units(ours.units, theirs.units, scope)
    facts = compare_facts(ours, theirs)
    look = Look(
        context=asked["context"],
        is_full=asked["full"],
        is_summary=asked["summary"],
        home=str(desk.home),
    )
    data = {
        "a": ours.plain(),
        "b": theirs.plain(),
        "is_same": all(unit.status == "same" for unit in units),
        "metadata": plain_facts(facts),
        "units": plain_units(units, look) if asked["as_json"] else [],
    }
    emit(data, lambda: difference_lines(facts, units, look), as_json=asked["as_json"])


def _load(
    desk: Desk, reader: StoreReader, wanted: str, redact: Callable[[str], str]
) -> Side:
    """What the id names, as it may be shown."""
    found = resolve_id(reader, wanted, with_costs=True)
    return Side(
        found=found,
        session=redact_summary(found.session, redact),
        units=tuple(redact_unit(unit, redact) for unit in load_units(reader, found)),
        status=compute_status(found.session, desk.clock.now()),
    )
