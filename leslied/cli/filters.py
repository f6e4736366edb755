"""Options that select sessions, shared by all commands that list sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from leslied.cli.completion import complete_agent, complete_project
from leslied.errors import UserError
from leslied.model.session import Status
from leslied.queries.value_parsers import SESSION_FILTER_KEYS, make_value_parsers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from leslied.app import App
    from leslied.model.query import Filter

    F = TypeVar("F", bound=Callable[..., Any])

NO_MATCH = "No session matches these filters."
AGENT_PROJECT_NAMES = ("agent", "project")
"""Names of the options that `agent_project_options` adds."""
_AGENT_PROJECT_OPTIONS = (
    click.option(
        "--agent",
        metavar="NAME",
        shell_complete=complete_agent,
        help="Limit to sessions of this agent.",
    ),
    click.option(
        "--project",
        metavar="PATH|NAME",
        shell_complete=complete_project,
        help="Limit to the project of this name, or of this folder.",
    ),
)
_OTHER_OPTIONS = (
    click.option(
        "--model",
        metavar="TEXT",
        help="Limit to sessions whose model name contains TEXT.",
    ),
    click.option(
        "--status",
        type=click.Choice(get_args(Status)),
        help="Limit to sessions that are at work, waiting for a prompt, or ended.",
    ),
    click.option(
        "--since",
        metavar="WHEN",
        help="Limit to sessions active since WHEN: 2026-01-31, today, 7d.",
    ),
    click.option(
        "--until",
        metavar="WHEN",
        help="Limit to sessions that started on or before WHEN.",
    ),
)


def agent_project_options(command: F) -> F:
    """Add the options `--agent` and `--project` to a command."""
    for option in reversed(_AGENT_PROJECT_OPTIONS):
        command = option(command)
    return command


def filter_options(command: F) -> F:
    """Add all filter options to a command."""
    for option in reversed(_OTHER_OPTIONS):
        command = option(command)
    return agent_project_options(command)


def parse_filters(
    app: App,
    options: Mapping[str, Any],
    names: Iterable[str] = tuple(SESSION_FILTER_KEYS),
) -> tuple[Filter, ...]:
    """Return the filters that the options in `names` set.

    Raises UserError for an empty value: an unset shell variable must not select all
    sessions.
    """
    from leslied.queries.search_query import make_filter  # noqa: PLC0415 - not needed for --help

    value_parsers = make_value_parsers(app.clock.now(), app.home, is_end=True)
    values = {name: options[name] for name in names if options[name] is not None}
    for name, text in values.items():
        if not text:
            raise UserError(f"--{name} needs a value.", "Give one, or omit the option.")
    return tuple(
        make_filter(SESSION_FILTER_KEYS[name], text, value_parsers)
        for name, text in values.items()
    )


def format_no_sessions(filters: Sequence[Filter]) -> str:
    """Return a message that explains an empty list of sessions."""
    if filters:
        return NO_MATCH
    return "There are no sessions yet. Use an agent, then run: leslied sync"
