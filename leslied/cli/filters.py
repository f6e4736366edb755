"""Options that choose sessions, the same for every command that lists them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

import click

from leslied.cli.completion import complete_agent, complete_project
from leslied.cli.span import parse_moment
from leslied.errors import UserError
from leslied.model.session import Status
from leslied.paths import resolve_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from leslied.cli.desk import Desk
    from leslied.model.query import Filter, FilterKey

    F = TypeVar("F", bound=Callable[..., Any])

NOTHING_LIKE = "No session is like that."
WHOSE = ("agent", "project")
_KEYS: dict[str, FilterKey] = {
    "agent": "agent",
    "project": "project",
    "model": "model",
    "status": "status",
    "since": "after",
    "until": "before",
}
_WHOSE = (
    click.option(
        "--agent",
        metavar="NAME",
        shell_complete=complete_agent,
        help="Only this agent's sessions.",
    ),
    click.option(
        "--project",
        metavar="PATH|NAME",
        shell_complete=complete_project,
        help="Only those in this folder or below it, or in any folder of this name.",
    ),
)
_REST = (
    click.option(
        "--model", metavar="TEXT", help="Only those of a model so named, in part."
    ),
    click.option("--status", type=click.Choice(get_args(Status)), help="Only these."),
    click.option(
        "--since", metavar="WHEN", help="Active since: 2026-01-31, today, 7d."
    ),
    click.option("--until", metavar="WHEN", help="Begun by the end of that day."),
)


def whose_options(command: F) -> F:
    """The command takes `--agent` and `--project`."""
    for option in reversed(_WHOSE):
        command = option(command)
    return command


def filter_options(command: F) -> F:
    """The command takes `--agent`, `--project`, `--model`, `--status`, and times."""
    for option in reversed(_REST):
        command = option(command)
    return whose_options(command)


def read_filters(
    desk: Desk, asked: Mapping[str, Any], names: Iterable[str] = tuple(_KEYS)
) -> tuple[Filter, ...]:
    """The conditions among the options of these names.

    An empty one is refused: a shell's variable that is not set must not mean all.
    """
    from leslied.lookup import make_filter  # noqa: PLC0415 - help needs no look-ups

    understand = make_understand(desk, is_end=True)
    given = {name: asked[name] for name in names if asked[name] is not None}
    for name, text in given.items():
        if not text:
            raise UserError(f"--{name} says nothing.", "Say which, or leave it out.")
    return tuple(
        make_filter(_KEYS[name], text, understand) for name, text in given.items()
    )


def say_nothing(filters: Sequence[Filter]) -> str:
    """Why there is no session to show."""
    if filters:
        return NOTHING_LIKE
    return "No sessions yet. Work with an agent, then run: leslied sync"


def make_understand(
    desk: Desk, *, is_end: bool = False
) -> Mapping[str, Callable[[str], str | int]]:
    """How the values of filters are meant; `is_end`: up to the end of a day."""
    now = desk.clock.now()
    return {
        "after": partial(parse_moment, now=now, zone=None),
        "before": partial(parse_moment, now=now, zone=None, is_end=is_end),
        "project": partial(resolve_project, home=desk.home),
    }
