"""`leslied search`: find words in what was said, called and answered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import click

from leslied.cli.app import get_app
from leslied.cli.filters import make_value_parsers
from leslied.cli.help import LesliedCommand
from leslied.cli.output import emit, format_time, json_option, sanitize, shorten_ids
from leslied.errors import UserError
from leslied.model.query import FilterKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leslied.cli.app import App
    from leslied.lookup import SearchHit, SearchMode, SearchResult
    from leslied.model.query import Query, Term
    from leslied.store import StoreReader

_ENTRY_ID_CHARS = 12
_TYPE_LABELS = {
    "user_message": "prompt",
    "assistant_message": "answer",
    "thinking": "thought",
    "error": "error",
}
_NUMBER = re.compile(r"-n[0-9]+")
_ESCAPE = "\0"
"""Stands before a `-word`, which is no option; no argument can hold it."""


class _SearchCommand(LesliedCommand):
    """A command whose words may begin with `-`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, [_escape_word(arg) for arg in args])
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-")
            key = {"since": "after", "until": "before"}.get(name, name)
            if key not in get_args(FilterKey):
                raise
            raise UserError(
                "A search takes its filters as words.",
                f"Write {key}:… instead of --{name} …, among the words.",
            ) from error


def _escape_word(arg: str) -> str:
    is_word = len(arg) > 2 and arg[0] == "-" and arg[1] != "-"
    return _ESCAPE + arg if is_word and not _NUMBER.fullmatch(arg) else arg


@click.command(
    cls=_SearchCommand,
    examples=[
        ("leslied search login bug", "entries with both words"),
        ('leslied search "merge conflict"', "with this phrase"),
        ("leslied search 'parse*' --rank", "with words that begin so, best first"),
        ("leslied search timeout tool:Bash is:error", "in commands that failed"),
        ("leslied search deploy project:. after:7d", "here, in the last week"),
        ("leslied search --substring 'x = {'", "with these very characters"),
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
    help="Show so many.",
)
@click.option("--rank", is_flag=True, help="Best match first instead of newest.")
@click.option(
    "--substring", is_flag=True, help="Find any characters, also inside words; slower."
)
@click.option("--reveal", is_flag=True, help="Show secrets as they are in the log.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, query: tuple[str, ...], **options: Any) -> None:
    """Find what was said, thought, called and answered by the words in it.

    \b
    "two words"        a phrase; so is an argument with spaces
    begin*             every word that begins so
    one OR other       either; (…) group, AND is understood
    -word, NOT word    without it
    agent:codex        of this agent; several are alternatives, -agent: is without
    project:app        of this project, by name or path; also thread:, session:
    tool:Bash          calls and results of a tool; tool:mcp__* of several
    model:opus         of models so named; also role:user, role:assistant, role:tool
    after:7d           since then; before:2026-01-31 before that day
    status:active      in sessions that work; also idle, stopped
    is:error           what failed; is:subagent what subagents did

    The newest entries come first. Any text is a query: what is no filter and no
    operator is a word.
    """  # noqa: D301 - click reads the character
    app = get_app(ctx)
    from leslied.lookup import parse_query  # noqa: PLC0415 - help is quicker

    wanted = parse_query(_join_words(query), make_value_parsers(app))
    with app.open_reader() as reader:
        answer = _search(app, reader, wanted, options)
        ids = {hit.key.session_id for hit in answer.hits}
        shorts = shorten_ids(ids, reader.list_similar_ids(ids))
    emit(
        {"hits": [_hit_to_dict(hit) for hit in answer.hits]},
        lambda: _lines(answer.hits, wanted.terms, shorts),
        as_json=options["as_json"],
        warnings=answer.notes,
    )


def _search(
    app: App, reader: StoreReader, wanted: Query, options: dict[str, Any]
) -> SearchResult:
    from leslied.lookup import search_entries  # noqa: PLC0415 - help is quicker
    from leslied.sessions import stopped_before_us  # noqa: PLC0415

    return search_entries(
        reader,
        wanted,
        _choose_mode(options),
        options["limit"],
        quiet_us=stopped_before_us(app.clock.now()),
        redact=str if options["reveal"] else app.redact,
    )


def _choose_mode(options: dict[str, Any]) -> SearchMode:
    if options["rank"] and options["substring"]:
        raise UserError(
            "--rank weighs words, --substring knows none.", "Choose one of them."
        )
    if options["substring"]:
        return "substring"
    return "rank" if options["rank"] else "newest"


def _join_words(words: Iterable[str]) -> str:
    """One text; a shell takes quotes off, so an argument with spaces was a phrase."""
    from leslied.lookup import has_syntax  # noqa: PLC0415

    parts = [word.removeprefix(_ESCAPE) for word in words]
    return " ".join(
        f'"{part}"' if " " in part and not has_syntax(part) else part for part in parts
    )


def _hit_to_dict(hit: SearchHit) -> dict[str, Any]:
    from leslied.model.codec import encode_time  # noqa: PLC0415

    return {
        "session_id": hit.key.session_id,
        "source": hit.key.source,
        "agent": hit.key.agent,
        "chat_id": hit.chat_id or None,
        "entry_id": hit.entry_id,
        "type": hit.type,
        "tool_name": hit.tool_name or None,
        "at": encode_time(hit.at),
        "snippet": hit.snippet,
        "score": round(hit.score, 3) if hit.score is not None else None,
        "command": f"leslied show {hit.show_id}",
    }


def _lines(
    hits: Iterable[SearchHit], terms: Iterable[Term], shorts: Mapping[str, str]
) -> Iterator[str]:
    if not hits:
        yield "Nothing found. Words are whole; 'part*' finds more, --substring all."
    highlight = _compile_highlight(terms)
    for hit in hits:
        what = _TYPE_LABELS.get(hit.type, hit.tool_name)
        if hit.type == "tool_result":
            what = f"{hit.tool_name} result".strip()
        ids = f"{shorts[hit.key.session_id]} {hit.entry_id[:_ENTRY_ID_CHARS]}"
        head = f"{format_time(hit.at)}  {what}  {ids}  leslied show {hit.show_id}"
        yield click.style(sanitize(head), dim=True)
        yield "  " + highlight.sub(_highlight, sanitize(hit.snippet))


def _compile_highlight(terms: Iterable[Term]) -> re.Pattern[str]:
    """What of a line was asked for; never, where nothing was."""
    words = sorted((re.escape(term.text) for term in terms), key=len, reverse=True)
    return re.compile("|".join(filter(None, words)) or "(?!)", re.IGNORECASE)


def _highlight(match: re.Match[str]) -> str:
    return click.style(match[0], bold=True, fg="yellow")
