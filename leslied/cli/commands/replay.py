"""`leslied replay`: play back a session."""

from __future__ import annotations

import math
import sys
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from leslied.app import get_app
from leslied.cli.completion import complete_session
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import format_time, sanitize
from leslied.cli.render.replay import make_replay_events
from leslied.cli.terminal.player import NoKeyInput, Player
from leslied.errors import UserError
from leslied.queries.show import show_session
from leslied.queries.unit_selection import UnitSelection
from leslied.rendering.humanize import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from leslied.cli.terminal.player import KeyInput
    from leslied.clock import Clock
    from leslied.model.session import SessionSummary, Unit

_DEFAULT_SPEED = 10.0
_KEYS_HELP = "space: pause · → or Enter: next entry · + and -: change speed · q: quit"


def _check_not_negative(
    _: click.Context, __: click.Parameter, value: float | None
) -> Any:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise click.BadParameter(f"{value:g} is not a number >= 0.")
    return value


@click.command(
    cls=LesliedCommand,
    examples=[
        ("leslied replay last", "the last active session, ten times as fast"),
        ("leslied replay 4f0d9df4 --speed 1 --max-pause 10", "almost in real time"),
        ("leslied replay 4f0d9df4 --from 3", "from the third prompt"),
        ("leslied replay chat-51c2 --instant", "one unit, without pauses"),
    ],
    see_also=["show", "follow", "diff"],
)
@click.argument("id_prefix", metavar="ID|last", shell_complete=complete_session)
@click.option(
    "--speed",
    metavar="X",
    type=float,
    callback=_check_not_negative,
    help="Play X times as fast; 0 plays without pauses.  "
    "[default: 10 on a terminal, else 0]",
)
@click.option("--instant", is_flag=True, help="Play without pauses, like --speed 0.")
@click.option(
    "--max-pause",
    metavar="SECONDS",
    type=float,
    callback=_check_not_negative,
    default=2.0,
    show_default=True,
    help="Limit pauses to this many seconds.",
)
@click.option(
    "--from",
    "first",
    metavar="N",
    type=click.IntRange(min=1),
    help="Start with unit N of the session.",
)
@click.option(
    "--full", is_flag=True, help="Show everything in full, including thinking."
)
@click.option("--reveal", is_flag=True, help="Show secrets unredacted.")
@click.pass_context
def command(ctx: click.Context, /, id_prefix: str, **options: Any) -> None:
    """Play back a session, unit or subagent on the terminal.

    Entries appear in their original order with the original pauses, by default ten
    times as fast and with no pause longer than two seconds. Prompts appear character by
    character, answers word by word. Subagents are indented.

    In a pipe, the output is plain and has no pauses unless --speed is given.

    \b
    Keys on a terminal:
    space          pause or continue
    → or Enter     skip to the next entry
    + and -        double or halve the speed
    q or Ctrl-C    quit
    """  # noqa: D301 - click reads the character
    app = get_app(ctx)
    if options["instant"] and options["speed"]:
        raise UserError(
            "--instant cannot be combined with --speed.", "Choose one of them."
        )
    with app.open_queries(reveal=options["reveal"]) as queries:
        session = show_session(queries, id_prefix, UnitSelection())
        units = _skip_units(tuple(session.iter_units()), options["first"], id_prefix)
    _play(app.clock, session.summary, units, options)


def _skip_units(
    units: tuple[Unit, ...], first: int | None, id_prefix: str
) -> tuple[Unit, ...]:
    """Return the units from number `first` on; raise UserError if there are none."""
    if first is None:
        return units
    last = max((unit.number for unit in units), default=0)
    if first > last:
        raise UserError(
            f"There is no unit {first}: the session has {format_count(last, 'unit')}.",
            f"Try: leslied replay {id_prefix} --from {max(last, 1)}",
        )
    return tuple(unit for unit in units if unit.number >= first)


def _play(
    clock: Clock,
    summary: SessionSummary,
    units: Sequence[Unit],
    options: dict[str, Any],
) -> None:
    is_terminal = sys.stdout.isatty()
    default_speed = _DEFAULT_SPEED if is_terminal and not options["instant"] else 0.0
    speed = default_speed if options["speed"] is None else options["speed"]
    has_keys = is_terminal and sys.stdin.isatty() and speed > 0
    for line in _header_lines(summary, has_keys=has_keys):
        click.echo(line)
    with _open_key_input(clock, has_keys=has_keys) as keys:
        player = Player(
            keys=keys,
            clock=clock,
            write=partial(click.echo, nl=False),
            speed=speed,
            max_pause=options["max_pause"],
            is_terminal=is_terminal,
        )
        player.play(make_replay_events(units, is_full=options["full"]))


def _open_key_input(
    clock: Clock, *, has_keys: bool
) -> AbstractContextManager[KeyInput]:
    if not has_keys:
        return nullcontext(NoKeyInput(clock))
    from leslied.cli.terminal.keyboard import open_keyboard  # noqa: PLC0415

    return open_keyboard()


def _header_lines(summary: SessionSummary, *, has_keys: bool) -> Iterator[str]:
    yield click.style(sanitize(summary.title or summary.key.session_id), bold=True)
    started_at = format_time(summary.started_at)
    facts = [summary.key.session_id, summary.key.agent, started_at]
    yield click.style(sanitize(" · ".join(facts)), dim=True)
    if has_keys:
        yield click.style(_KEYS_HELP, dim=True)
