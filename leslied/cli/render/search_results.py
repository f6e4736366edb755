"""Search hits in a terminal: grouped by session, or one after the other."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from leslied.cli.render.output import find_screen_width, format_time, has_room, sanitize
from leslied.cli.render.widths import measure_width, truncate_to_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leslied.queries.search import SearchHit, SearchResult
    from leslied.queries.search_groups import GroupedSearch, SearchGroup

_ENTRY_ID_CHARS = 12
_TYPE_LABELS = {
    "user_message": "prompt",
    "assistant_message": "answer",
    "thinking": "thought",
    "error": "error",
}
_TITLE_WIDTH, _WIDE_TITLE_WIDTH = 40, 90
_WIDE_SCREEN = 130
_NOTHING_FOUND = "Nothing found. Terms match whole words; try 'part*' or --substring."


def format_notes(notes: Iterable[str]) -> list[str]:
    """Return the notes of a search; name --substring where they advise it."""
    from leslied.queries.search import SUBSTRING_ADVICE  # noqa: PLC0415 - not for --help

    option = f"{SUBSTRING_ADVICE} with --substring"
    return [note.replace(SUBSTRING_ADVICE, option) for note in notes]


def format_hits(result: SearchResult, short_ids: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of hits in their order, each with the id of its session."""
    if not result.hits:
        yield _NOTHING_FOUND
    for hit in result.hits:
        yield _dim(
            f"{_format_facts(hit, short_ids[hit.key.session_id])}  {hit.command}"
        )
        yield f"  {_format_snippet(hit)}"
    if result.has_more:
        count = len(result.hits)
        yield _dim(f"There are more hits. Show more with: -n {10 * count}")


def format_groups(
    result: GroupedSearch, short_ids: Mapping[str, str], command: str
) -> Iterator[str]:
    """Yield the lines of hits by session; `command` is the search's command line."""
    if not result.groups:
        yield _NOTHING_FOUND
    for index, group in enumerate(result.groups):
        if index:
            yield ""
        yield from _format_group(group, short_ids[group.session_id], command)
    if result.session_count > len(result.groups):
        count = sum(len(group.hits) for group in result.groups)
        sessions = f"{len(result.groups):,} of {result.session_count:,} sessions"
        yield ""
        yield _dim(f"Shown are {sessions} with hits. Show more with: -n {10 * count}")
    elif result.has_more:
        yield ""
        yield _dim(
            f"Only {result.hit_count:,} hits were looked at. Add a word or filter."
        )


def _format_group(group: SearchGroup, short_id: str, command: str) -> Iterator[str]:
    width = _WIDE_TITLE_WIDTH if has_room(_WIDE_SCREEN) else _TITLE_WIDTH
    title = truncate_to_width(sanitize(group.title or group.session_id), width)
    facts = [group.agent, PurePath(group.project).name, short_id]
    yield f"{click.style(title, bold=True)}  {_dim('  '.join(filter(None, facts)))}"
    for hit in group.hits:
        yield _dim(f"  {_format_facts(hit)}  {hit.command}")
        yield from _wrap(_format_snippet(hit), "    ")
    if group.hidden:
        # A search that names a session is limited only by -n.
        names_session = "session:" in command
        more = "use -n" if names_session else f"{command} session:{short_id}"
        yield _dim(f"  … {group.hidden:,} more in this session: {more}")


def _wrap(text: str, indent: str) -> Iterator[str]:
    """Yield the lines of a styled text, indented; one line without a terminal."""
    width = find_screen_width()
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width and line and measure_width(indent + longer) > width:
            yield indent + line
            longer = word
        line = longer
    yield indent + line


def _format_facts(hit: SearchHit, short_id: str = "") -> str:
    label = _TYPE_LABELS.get(hit.type, hit.tool_name)
    if hit.type == "tool_result":
        label = f"{hit.tool_name} result".strip()
    entry_id = hit.entry_id[:_ENTRY_ID_CHARS]
    return "  ".join([format_time(hit.at), label, f"{short_id} {entry_id}".strip()])


def _format_snippet(hit: SearchHit) -> str:
    """Return the snippet with its matches highlighted."""
    return "".join(_iter_parts(hit.snippet, hit.matches))


def _iter_parts(text: str, matches: Iterable[tuple[int, int]]) -> Iterator[str]:
    position = 0
    for start, end in matches:
        yield sanitize(text[position:start])
        yield click.style(sanitize(text[start:end]), bold=True, fg="yellow")
        position = end
    yield sanitize(text[position:])


def _dim(text: str) -> str:
    return click.style(sanitize(text), dim=True)
