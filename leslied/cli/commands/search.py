"""`leslied search`: full-text search in entries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.app import get_app
from leslied.cli.help import LesliedCommand
from leslied.cli.render.output import (
    emit,
    format_time,
    json_option,
    sanitize,
)
from leslied.errors import UserError
from leslied.model.query import FilterKey
from leslied.queries.value_parsers import make_value_parsers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leslied.app import App
    from leslied.model.query import Query, Term
    from leslied.queries.search import SearchMode, SearchResult

_ENTRY_ID_CHARS = 12
_TYPE_LABELS = {
    "user_message": "prompt",
    "assistant_message": "answer",
    "thinking": "thought",
    "error": "error",
}
_LIMIT_ARGUMENT = re.compile(r"-n[0-9]+")
_ESCAPE = "\0"
"""Prefix that marks `-word` as a search term; arguments cannot contain it."""


class _SearchCommand(LesliedCommand):
    """A command that takes arguments such as `-word` as search terms."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
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
    help="Search sessions without a prompt or an answer too.",
)
@click.option("--rank", is_flag=True, help="Show the best match first, not the newest.")
@click.option(
    "--substring",
    is_flag=True,
    help="Match the text literally, even inside words. Slower.",
)
@click.option("--reveal", is_flag=True, help="Show secrets unredacted.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, query: tuple[str, ...], **options: Any) -> None:
    """Search prompts, answers, thinking, tool calls and results.

    \b
    'two words'        a phrase: these words, one after the other
    begin*             words that start with this
    one OR other       either word; AND is the default
    '(a OR b) c'       a group; operators work inside the shell's quotes, too
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

    The newest entries come first. Everything that is not a filter or an operator is a
    search term.
    """  # noqa: D301 - click reads the character
    app = get_app(ctx)
    # Imported late, because --help does not need it.
    from leslied.queries.search_query import parse_query  # noqa: PLC0415

    parsed_query = parse_query(
        _join_arguments(query), make_value_parsers(app.clock.now(), app.home)
    )
    result, short_ids = _search(app, parsed_query, options)
    emit(
        result.to_dict,
        lambda: _lines(result, parsed_query.terms, short_ids),
        as_json=options["as_json"],
        warnings=result.notes,
    )


def _search(
    app: App, query: Query, options: dict[str, Any]
) -> tuple[SearchResult, dict[str, str]]:
    """Return the hits, and the short ids of their sessions."""
    from msgspec import structs  # noqa: PLC0415 - not for --help

    from leslied.queries.search import search  # noqa: PLC0415 - not for --help
    from leslied.queries.short_ids import make_short_ids  # noqa: PLC0415

    mode = _choose_mode(options)
    with app.open_queries(reveal=options["reveal"]) as queries:
        query = structs.replace(query, with_hidden=options["with_hidden"])
        result = search(queries, query, mode, options["limit"])
        ids = {hit.key.session_id for hit in result.hits}
        return result, make_short_ids(queries, ids)


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


def _lines(
    result: SearchResult, terms: Iterable[Term], short_ids: Mapping[str, str]
) -> Iterator[str]:
    if not result.hits:
        yield "Nothing found. Terms match whole words; try 'part*' or --substring."
    highlight = _compile_highlight(terms)
    for hit in result.hits:
        label = _TYPE_LABELS.get(hit.type, hit.tool_name)
        if hit.type == "tool_result":
            label = f"{hit.tool_name} result".strip()
        ids = f"{short_ids[hit.key.session_id]} {hit.entry_id[:_ENTRY_ID_CHARS]}"
        header = f"{format_time(hit.at)}  {label}  {ids}  {hit.command}"
        yield click.style(sanitize(header), dim=True)
        yield "  " + highlight.sub(_highlight, sanitize(hit.snippet))
    if result.has_more:
        count = len(result.hits)
        more = f"There are more hits. Show more with: -n {10 * count}"
        yield click.style(more, dim=True)


def _compile_highlight(terms: Iterable[Term]) -> re.Pattern[str]:
    """Compile a pattern that matches the search terms, or nothing without terms."""
    patterns = sorted((re.escape(term.text) for term in terms), key=len, reverse=True)
    return re.compile("|".join(filter(None, patterns)) or "(?!)", re.IGNORECASE)


def _highlight(match: re.Match[str]) -> str:
    return click.style(match[0], bold=True, fg="yellow")
