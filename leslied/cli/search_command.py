"""`leslied search`: find words in what was said, called and answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from leslied.cli.desk import sit_down
from leslied.cli.help import Command
from leslied.cli.output import clean, emit, json_option, say_time
from leslied.model.codec import plain_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leslied.store import Hit


@click.command(
    cls=Command,
    examples=[
        ("leslied search login bug", "entries with both words"),
        ('leslied search "merge conflict"', "with this phrase"),
        ("leslied search 'parse*' --rank", "with words that begin so, best first"),
    ],
    see_also=["show", "list"],
)
@click.argument("query", nargs=-1, required=True)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, help="Show so many."
)
@click.option("--rank", is_flag=True, help="Best match first instead of newest.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, query: tuple[str, ...], limit: int, rank: bool, as_json: bool
) -> None:
    """Find entries that hold all the words.

    A quoted phrase is found as a whole, `word*` finds every word that starts so.
    """
    desk = sit_down(ctx)
    # A shell takes the quotes off: an argument with spaces was a phrase.
    words = " ".join(f'"{part}"' if _is_phrase(part) else part for part in query)
    with desk.open_reader() as reader:
        found = reader.search(words, limit, by_rank=rank)
    hits = [replace(hit, snippet=desk.redact(hit.snippet)) for hit in found]
    emit({"hits": [_plain(hit) for hit in hits]}, lambda: _lines(hits), as_json=as_json)


def _is_phrase(part: str) -> bool:
    return " " in part and '"' not in part


def _plain(hit: Hit) -> dict[str, Any]:
    return {
        "session_id": hit.session_id,
        "source": hit.source,
        "agent": hit.agent,
        "chat_id": hit.chat_id or None,
        "entry_id": hit.entry_id,
        "type": hit.type,
        "tool_name": hit.tool_name or None,
        "at": plain_time(hit.at),
        "snippet": hit.snippet,
        "score": round(hit.score, 3),
    }


def _lines(hits: list[Hit]) -> Iterator[str]:
    if not hits:
        yield "Nothing found. Words are matched whole; try: leslied search 'part*'"
    for hit in hits:
        what = hit.tool_name or hit.type.replace("_", " ")
        place = hit.chat_id or hit.session_id[:8]
        head = f"{say_time(hit.at)}  {what}  leslied show {place}"
        yield click.style(clean(head), dim=True)
        yield "  " + clean(hit.snippet)
