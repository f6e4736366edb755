"""`leslied search`: full-text search in entries."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import emit, json_option
from leslied.cli.render.search_results import format_groups, format_hits, format_notes
from leslied.errors import UserError
from leslied.model.query import FilterKey
from leslied.queries.value_parsers import make_value_parsers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leslied.app import App
    from leslied.model.query import Query
    from leslied.queries.search import SearchMode

_LIMIT_ARGUMENT = re.compile(r"-n[0-9]+")
_ESCAPE = "\0"
"""Prefix that marks `-word` as a search term; arguments cannot contain it."""


class _SearchCommand(LesliedCommand):
    """A command that takes arguments such as `-word` as search terms."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; `-word` is a search term.

        Raise UserError, with a hint, for a filter that is written as an option.
        """
        try:
            return super().parse_args(ctx, [_escape_word(arg) for arg in args])
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-")
            key = {"since": "after", "until": "before"}.get(name, name)
            if key not in get_args(FilterKey):
                raise
            raise UserError(
                f"There is no option --{name}: filters are part of the query.",
                f"Write {key}:VALUE instead of --{name} VALUE.",
            ) from error


def _escape_word(arg: str) -> str:
    """Mark an argument such as `-word` as a search term; `-n` and `-n5` are options."""
    is_word = len(arg) > 2 and arg[0] == "-" and arg[1] != "-"
    return _ESCAPE + arg if is_word and not _LIMIT_ARGUMENT.fullmatch(arg) else arg


@click.command(
    cls=_SearchCommand,
    examples=[
        ("leslied search login bug", "entries with both words"),
        ("leslied search 'merge conflict'", "entries with this phrase"),
        ("leslied search 'parse*' --rank", "words with this prefix, best match first"),
        ("leslied search timeout tool:Bash is:error", "only commands that failed"),
        ("leslied search deploy project:. after:7d", "this project, last 7 days"),
        ("leslied search --substring 'x = {'", "exactly these characters"),
    ],
    see_also=["show", "list", "sql"],
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="Show at most N entries.",
)
@click.option(
    "--all",
    "with_hidden",
    is_flag=True,
    help="Search sessions with neither a prompt nor an answer, too.",
)
@click.option("--rank", is_flag=True, help="Show the best match first, not the newest.")
@click.option(
    "--substring",
    is_flag=True,
    help="Match the text literally, even inside words. Slower.",
)
@click.option("--flat", is_flag=True, help="List entries without grouping by session.")
@click.option("--reveal", is_flag=True, help="Show secrets unredacted.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, query: tuple[str, ...], **options: Any) -> None:
    """Search prompts, answers, thinking, tool calls and results.

    \b
    'two words'        this exact phrase
    'a OR b'           no phrase: beside an operator or filter, quotes have no effect
    begin*             words that start with this
    one OR other       either word; AND is the default
    '(a OR b) c'       a group; the shell needs the quotes
    -word, NOT word    entries without this word
    agent:codex        this agent; repeat it for alternatives, -agent: excludes
    project:app        this project, by name or path; also thread:, session:
    tool:Bash          calls and results of a tool; tool:mcp__* matches several
    model:opus         models whose name contains this
    role:user          prompts; also role:assistant, role:tool
    after:7d           entries since this time
    before:2026-01-31  entries before this day
    status:active      sessions at work; also status:idle (waiting for a prompt)
                       and status:stopped (ended)
    is:error           errors
    is:subagent        entries of subagents

    The newest entries come first, grouped by session, up to three per session.
    Everything that is not a filter or an operator is a search term.
    """  # noqa: D301 - click reads the character
    app = get_app(ctx)
    from msgspec import structs  # noqa: PLC0415 - not for --help

    from leslied.queries.search_query import parse_query  # noqa: PLC0415

    text = _join_arguments(query)
    parsed_query = structs.replace(
        parse_query(text, make_value_parsers(app.clock.now(), app.home)),
        with_hidden=options["with_hidden"],
    )
    mode = _choose_mode(options)
    if options["as_json"] or options["flat"]:
        _print_hits(app, parsed_query, mode, options)
    else:
        _print_groups(app, text, parsed_query, mode, options | {"query": query})


def _print_hits(
    app: App, query: Query, mode: SearchMode, options: dict[str, Any]
) -> None:
    """Print the hits in their order, or their JSON form."""
    from leslied.queries.search import search  # noqa: PLC0415 - not for --help
    from leslied.queries.short_ids import make_short_ids  # noqa: PLC0415

    with app.open_queries(reveal=options["reveal"]) as queries:
        result = search(queries, query, mode, options["limit"])
        ids = {hit.key.session_id for hit in result.hits}
        short_ids = make_short_ids(queries, ids)
    emit(
        result.to_dict,
        lambda: format_hits(result, short_ids),
        as_json=options["as_json"],
        warnings=format_notes(result.notes),
    )


def _print_groups(
    app: App, text: str, query: Query, mode: SearchMode, options: dict[str, Any]
) -> None:
    """Print the best hits of each session."""
    from leslied.queries.search_groups import (  # noqa: PLC0415 - not for --help
        GroupLimits,
        search_by_session,
    )
    from leslied.queries.short_ids import make_short_ids  # noqa: PLC0415

    limit = options["limit"]
    with app.open_queries(reveal=options["reveal"]) as queries:
        limits = GroupLimits(sessions=limit, hits=limit)
        result = search_by_session(queries, text, query, mode, limits)
        ids = [group.session_id for group in result.groups]
        short_ids = make_short_ids(queries, ids)
    emit(
        result.to_dict,
        lambda: format_groups(result, short_ids, _format_command(options)),
        as_json=False,
        warnings=format_notes(result.notes),
    )


def _format_command(options: dict[str, Any]) -> str:
    """Return the command that the user typed, without its limit."""
    flags = [f"--{name}" for name in ("rank", "substring", "reveal") if options[name]]
    words = [word.removeprefix(_ESCAPE) for word in options["query"]]
    return shlex.join(["leslied", "search", *flags, *words])


def _choose_mode(options: dict[str, Any]) -> SearchMode:
    if options["rank"] and options["substring"]:
        raise UserError(
            "--rank cannot be combined with --substring.", "Choose one of them."
        )
    if options["substring"]:
        return "substring"
    return "rank" if options["rank"] else "newest"


def _join_arguments(args: Iterable[str]) -> str:
    """Join the arguments; quote those with spaces, whose quotes the shell removed."""
    from leslied.queries.search_query import has_syntax  # noqa: PLC0415

    parts = [arg.removeprefix(_ESCAPE) for arg in args]
    return " ".join(
        f'"{part}"' if " " in part and not has_syntax(part) else part for part in parts
    )
