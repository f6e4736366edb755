"""Options that choose sessions, the same for every command that lists them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

import click

from leslied.cli.completion import complete_agent, complete_project
from leslied.cli.time_args import parse_time_arg
from leslied.errors import UserError
from leslied.model.session import Status
from leslied.paths import resolve_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from leslied.cli.app import App
    from leslied.model.query import Filter, FilterKey

    F = TypeVar("F", bound=Callable[..., Any])

NO_MATCH = "No session is like that."
AGENT_PROJECT_NAMES = ("agent", "project")
_FILTER_KEYS: dict[str, FilterKey] = {
    "agent": "agent",
    "project": "project",
    "model": "model",
    "status": "status",
    "since": "after",
    "until": "before",
}
_AGENT_PROJECT_OPTIONS = (
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
_OTHER_OPTIONS = (
    click.option(
        "--model", metavar="TEXT", help="Only those of a model so named, in part."
    ),
    click.option("--status", type=click.Choice(get_args(Status)), help="Only these."),
    click.option(
        "--since", metavar="WHEN", help="Active since: 2026-01-31, today, 7d."
    ),
    click.option("--until", metavar="WHEN", help="Begun by the end of that day."),
)


def agent_project_options(command: F) -> F:
    """The command takes `--agent` and `--project`."""
    for option in reversed(_AGENT_PROJECT_OPTIONS):
        command = option(command)
    return command


def filter_options(command: F) -> F:
    """The command takes `--agent`, `--project`, `--model`, `--status`, and times."""
    for option in reversed(_OTHER_OPTIONS):
        command = option(command)
    return agent_project_options(command)


def parse_filters(
    app: App, options: Mapping[str, Any], names: Iterable[str] = tuple(_FILTER_KEYS)
) -> tuple[Filter, ...]:
    """The conditions among the options of these names.

    An empty one is refused: a shell's variable that is not set must not mean all.
    """
    from leslied.lookup import make_filter  # noqa: PLC0415 - help needs no look-ups

    value_parsers = make_value_parsers(app, is_end=True)
    given_options = {name: options[name] for name in names if options[name] is not None}
    for name, text in given_options.items():
        if not text:
            raise UserError(f"--{name} says nothing.", "Say which, or leave it out.")
    return tuple(
        make_filter(_FILTER_KEYS[name], text, value_parsers)
        for name, text in given_options.items()
    )


def format_no_sessions(filters: Sequence[Filter]) -> str:
    """Why there is no session to show."""
    if filters:
        return NO_MATCH
    return "No sessions yet. Work with an agent, then run: leslied sync"


def make_value_parsers(
    app: App, *, is_end: bool = False
) -> Mapping[str, Callable[[str], str | int]]:
    """How the values of filters are meant; `is_end`: up to the end of a day."""
    now = app.clock.now()
    return {
        "after": partial(parse_time_arg, now=now, zone=None),
        "before": partial(parse_time_arg, now=now, zone=None, is_end=is_end),
        "project": partial(resolve_project, home=app.home),
    }
