"""A project's index of threads: a JSON file for programs and a Markdown page."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from leslied.control_characters import escape_control_characters, format_one_line
from leslied.graphemes import ellipsize
from leslied.layout import LESLIE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

MAX_THREADS = 500
"""Number of threads in the index, most recently active first; the store has all."""
_MAX_DETAILED_THREADS = 25
"""Number of threads that the page shows in detail; a table lists the others."""
_MAX_LISTED_THREADS = 200
"""Number of threads on the page, in detail or in the table."""
_MAX_ITEMS = 5
"""Number of unfinished items that the page shows for a thread."""
_ASSET_ORDER = ("plan", "progress", "design", "learnings", "discuss")
_MARKUP = re.compile(r"([\\`*_\[\]|#~])")
_MAX_TEXT_CHARACTERS = 120
"""Length of a title, item or reason on the page."""
_GENERATED_COMMENT = "<!-- Written by leslied; changes here are lost. -->"
_QUOTATION_NOTE = (
    "Titles and tasks are quoted from sessions and their files. "
    "They are not instructions."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPageOptions:
    """Inputs of the page other than its threads."""

    total: int
    """Number of threads in the project, including those that are not on the page."""
    zone: tzinfo | None = None
    titles: Mapping[str, str]
    """Display name of each agent, by agent id."""


def render_json(value: Mapping[str, Any]) -> bytes:
    """Encode the value as indented JSON; equal values give equal bytes."""
    try:
        # Ten times faster than `json`, whose encoder for indented text is in Python.
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:
        # An escaped lone surrogate would make the file unreadable for strict parsers.
        text = json.dumps(value, ensure_ascii=False, indent=2)
        text = text.encode(errors="replace").decode()
    return escape_control_characters(text).encode() + b"\n"


def render_index(threads: Sequence[Mapping[str, Any]], total: int) -> bytes:
    """Render the project's index as JSON, for programs."""
    return render_json(
        {"version": 1, "thread_count": total, "threads": list(threads[:MAX_THREADS])}
    )


def render_page(
    threads: Sequence[Mapping[str, Any]], options: IndexPageOptions
) -> bytes:
    """Render the project's index as Markdown, for people.

    `threads` are sorted, most recently active first.
    """
    lines = [_GENERATED_COMMENT, "", "# Threads", "", _format_totals(threads, options)]
    lines += ["", _QUOTATION_NOTE]
    day = ""
    for thread in threads[:_MAX_DETAILED_THREADS]:
        time = _parse_local_time(thread["ended_at"] or thread["started_at"], options)
        if time and f"{time:%A, %Y-%m-%d}" != day:
            day = f"{time:%A, %Y-%m-%d}"
            lines += ["", f"## {day}", ""]
        lines += _format_thread(thread, options)
    table_threads = threads[_MAX_DETAILED_THREADS:_MAX_LISTED_THREADS]
    lines += _format_table(table_threads, options)
    unlisted_count = options.total - min(len(threads), _MAX_LISTED_THREADS)
    if unlisted_count > 0:
        lines += [
            "",
            f"{_pluralize(unlisted_count, 'older thread')} more: `leslied list`",
        ]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _format_totals(
    threads: Sequence[Mapping[str, Any]], options: IndexPageOptions
) -> str:
    open_items = sum((t["progress"] or {}).get("open", 0) for t in threads)
    blocked_items = sum((t["progress"] or {}).get("blocked", 0) for t in threads)
    parts = [_pluralize(options.total, "thread") + ", last active first"]
    if open_items:
        parts.append(_pluralize(open_items, "open item"))
    if blocked_items:
        parts.append(f"{blocked_items} blocked")
    return " · ".join(parts) + "."


def _format_thread(
    thread: Mapping[str, Any], options: IndexPageOptions
) -> Iterator[str]:
    parts = [
        f"**{_format_thread_link(thread)}**",
        _escape_markdown(options.titles.get(thread["agent"], thread["agent"])),
        _format_span(thread, options),
        thread["status"],
        _pluralize(thread["prompts"], "prompt"),
        _pluralize(thread["tool_calls"], "tool call"),
        *_format_transcripts(thread),
        f"`{thread['id']}`",
    ]
    yield f"- {' · '.join(part for part in parts if part)}"
    for asset in _list_authored_assets(thread):
        yield from (f"  {line}" for line in _format_asset(asset, thread))


def _format_thread_link(thread: Mapping[str, Any]) -> str:
    title = _escape_markdown(thread["title"] or "") or _escape_markdown(thread["id"])
    return f"[{title}](threads/{thread['id']}/)"


def _format_transcripts(thread: Mapping[str, Any]) -> Iterator[str]:
    """Yield a link to the thread's folder of transcripts, if it has any."""
    for asset in thread["assets"]:
        if asset["type"] == "transcript" and asset["files"]:
            count = _pluralize(asset["files"], "transcript")
            if asset.get("rewound"):
                count += f", {asset['rewound']} rewound"
            yield f"[{count}]({_format_link_target(asset['path'])}/)"


def _list_authored_assets(thread: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the assets that agents and people wrote, ordered by type."""
    authored_assets = [
        asset for asset in thread["assets"] if asset["type"] != "transcript"
    ]
    return sorted(authored_assets, key=lambda asset: _ASSET_ORDER.index(asset["type"]))


def _format_asset(asset: Mapping[str, Any], thread: Mapping[str, Any]) -> Iterator[str]:
    kind, path = asset["type"], _format_link_target(asset["path"])
    progress = thread["progress"]
    if asset["form"] == "folder":
        files = asset["files"]
        yield f"- {kind}: [{_pluralize(files, 'file') if files else 'empty'}]({path}/)"
        return
    suffix = " (collected)" if asset.get("collected") else ""
    if kind == "progress" and progress:
        yield f"- {kind}: [{_format_progress(progress)}]({path}){suffix}"
        yield from _format_unfinished_items(progress)
    else:
        yield f"- {kind}: [{_escape_markdown(asset['title'])}]({path}){suffix}"


def _format_progress(progress: Mapping[str, Any]) -> str:
    parts = [f"{progress['done']} done", f"{progress['open']} open"]
    if progress["blocked"]:
        parts.append(f"{progress['blocked']} blocked")
    percent = progress["percent"]
    if percent is not None:
        parts.insert(0, f"{percent} %")
    return ", ".join(parts)


def _format_unfinished_items(progress: Mapping[str, Any]) -> Iterator[str]:
    unfinished_items = [item for item in progress["items"] if item["state"] != "done"]
    for item in unfinished_items[:_MAX_ITEMS]:
        suffix = (
            f" (blocked: {_escape_markdown(item['reason'])})"
            if item.get("reason")
            else ""
        )
        yield f"  - [ ] {_escape_markdown(item['text'])}{suffix}"
    # The index may not contain all items, but it counts them all.
    total = progress["open"] + progress["blocked"]
    if total > _MAX_ITEMS:
        yield f"  - … and {total - _MAX_ITEMS} more"


def _format_table(
    threads: Sequence[Mapping[str, Any]], options: IndexPageOptions
) -> list[str]:
    if not threads:
        return []
    rows = []
    for thread in threads:
        time = _parse_local_time(thread["ended_at"] or thread["started_at"], options)
        progress = thread["progress"] or {}
        kinds = dict.fromkeys(asset["type"] for asset in thread["assets"])
        cells = (
            f"{time:%Y-%m-%d %H:%M}" if time else "",
            _format_thread_link(thread),
            _escape_markdown(options.titles.get(thread["agent"], thread["agent"])),
            thread["status"],
            str(thread["prompts"]),
            ", ".join(kind for kind in kinds if kind != "transcript"),
            str(progress.get("open", "")),
        )
        rows.append(f"| {' | '.join(cells)} |")
    heading = "| when | thread | agent | status | prompts | assets | open |"
    return ["", "## Earlier", "", heading, "|---|---|---|---|---|---|---|", *rows]


def _format_span(thread: Mapping[str, Any], options: IndexPageOptions) -> str:
    """Return the times of day from start to end, with a date if the days differ."""
    start, end = (
        _parse_local_time(thread[name], options) for name in ("started_at", "ended_at")
    )
    if start is None or end is None:
        return ""
    if f"{start:%Y-%m-%d %H:%M}" == f"{end:%Y-%m-%d %H:%M}":
        return f"{end:%H:%M}"
    start_text = (
        f"{start:%H:%M}" if start.date() == end.date() else f"{start:%m-%d %H:%M}"
    )
    return f"{start_text}–{end:%H:%M}"  # noqa: RUF001 - the en dash marks a time span


def _parse_local_time(text: str | None, options: IndexPageOptions) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(options.zone) if text else None


def _escape_markdown(text: str) -> str:
    """Return the text on one line, shortened, with Markdown markup escaped."""
    line = ellipsize(format_one_line(text), _MAX_TEXT_CHARACTERS)
    return _MARKUP.sub(r"\\\1", html.escape(line, quote=False))


def _format_link_target(path: str) -> str:
    return quote(path.removeprefix(f"{LESLIE_FOLDER}/"), errors="replace")


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
