"""A project's index: one file for programs, one page for people."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

MAX_THREADS = 500
"""The index lists so many threads, the last active first; the store knows all."""
_MAX_DETAILED = 25
"""So many are told of at length, the others in a table."""
_MAX_LISTED = 200
_MAX_ITEMS = 5
_ASSET_ORDER = ("plan", "progress", "design", "learnings", "discuss")
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)
_MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")
_GENERATED_NOTE = "<!-- Written by leslied; changes here are lost. -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPageOptions:
    """What the page depends on beside the threads."""

    total: int
    """How many threads there are, listed or not."""
    zone: tzinfo | None = None
    titles: Mapping[str, str]
    """Each agent's name as people write it."""


def render_json(value: Mapping[str, Any]) -> bytes:
    """The same values give the same bytes."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.encode(errors="replace") + b"\n"


def render_index(threads: Sequence[Mapping[str, Any]], total: int) -> bytes:
    """The project's index for programs."""
    return render_json(
        {"version": 1, "thread_count": total, "threads": list(threads[:MAX_THREADS])}
    )


def render_page(
    threads: Sequence[Mapping[str, Any]], options: IndexPageOptions
) -> bytes:
    """The project's index for people: threads, the last active first."""
    lines = [_GENERATED_NOTE, "", "# Threads", "", _format_totals(threads, options)]
    day = ""
    for thread in threads[:_MAX_DETAILED]:
        when = _to_local(thread["ended_at"] or thread["started_at"], options)
        if when and f"{when:%A, %Y-%m-%d}" != day:
            day = f"{when:%A, %Y-%m-%d}"
            lines += ["", f"## {day}", ""]
        lines += _format_thread(thread, options)
    lines += _format_table(threads[_MAX_DETAILED:_MAX_LISTED], options)
    left = options.total - min(len(threads), _MAX_LISTED)
    if left > 0:
        lines += ["", f"{_pluralize(left, 'older thread')} more: `leslied list`"]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _format_totals(threads: Sequence[Mapping[str, Any]], page: IndexPageOptions) -> str:
    open_items = sum((t["progress"] or {}).get("open", 0) for t in threads)
    blocked = sum((t["progress"] or {}).get("blocked", 0) for t in threads)
    parts = [_pluralize(page.total, "thread") + ", last active first"]
    if open_items:
        parts.append(_pluralize(open_items, "open item"))
    if blocked:
        parts.append(f"{blocked} blocked")
    return " · ".join(parts) + "."


def _format_thread(thread: Mapping[str, Any], page: IndexPageOptions) -> Iterator[str]:
    facts = [
        f"**[{_escape_markdown(thread['title'] or thread['id'])}](threads/{thread['id']}/)**",
        _escape_markdown(page.titles.get(thread["agent"], thread["agent"])),
        _format_span(thread, page),
        thread["status"],
        _pluralize(thread["prompts"], "prompt"),
        _pluralize(thread["tool_calls"], "tool call"),
        *_format_transcripts(thread),
        f"`{thread['id']}`",
    ]
    yield f"- {' · '.join(fact for fact in facts if fact)}"
    for asset in _sort_assets(thread):
        yield from (f"  {line}" for line in _format_asset(asset, thread))


def _format_transcripts(thread: Mapping[str, Any]) -> Iterator[str]:
    for asset in thread["assets"]:
        if asset["type"] == "transcript" and asset["files"]:
            yield f"[{_pluralize(asset['files'], 'transcript')}]({_format_link(asset['path'])}/)"


def _sort_assets(thread: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What agents and people wrote, in the order of the types."""
    own = [asset for asset in thread["assets"] if asset["type"] != "transcript"]
    return sorted(own, key=lambda asset: _ASSET_ORDER.index(asset["type"]))


def _format_asset(asset: Mapping[str, Any], thread: Mapping[str, Any]) -> Iterator[str]:
    kind, path = asset["type"], _format_link(asset["path"])
    progress = thread["progress"]
    if asset["form"] == "folder":
        files = asset["files"]
        yield f"- {kind}: [{_pluralize(files, 'file') if files else 'empty'}]({path}/)"
        return
    told = " (collected)" if asset.get("collected") else ""
    if kind == "progress" and progress:
        yield f"- {kind}: [{_format_progress(progress)}]({path}){told}"
        yield from _format_open_items(progress)
    else:
        yield f"- {kind}: [{_escape_markdown(asset['title'])}]({path}){told}"


def _format_progress(progress: Mapping[str, Any]) -> str:
    parts = [f"{progress['done']} done", f"{progress['open']} open"]
    if progress["blocked"]:
        parts.append(f"{progress['blocked']} blocked")
    percent = progress["percent"]
    return ", ".join([*([f"{percent} %"] if percent is not None else []), *parts])


def _format_open_items(progress: Mapping[str, Any]) -> Iterator[str]:
    left = [item for item in progress["items"] if item["state"] != "done"]
    for item in left[:_MAX_ITEMS]:
        why = (
            f" (blocked: {_escape_markdown(item['reason'])})"
            if item.get("reason")
            else ""
        )
        yield f"  - [ ] {_escape_markdown(item['text'])}{why}"
    total = progress["open"] + progress["blocked"]
    if total > _MAX_ITEMS:
        yield f"  - … and {total - _MAX_ITEMS} more"


def _format_table(
    threads: Sequence[Mapping[str, Any]], page: IndexPageOptions
) -> list[str]:
    if not threads:
        return []
    rows = []
    for thread in threads:
        when = _to_local(thread["ended_at"] or thread["started_at"], page)
        link = f"[{_escape_markdown(thread['title'] or thread['id'])}](threads/{thread['id']}/)"
        progress = thread["progress"] or {}
        kinds = dict.fromkeys(asset["type"] for asset in thread["assets"])
        cells = (
            f"{when:%Y-%m-%d %H:%M}" if when else "",
            link,
            _escape_markdown(page.titles.get(thread["agent"], thread["agent"])),
            thread["status"],
            str(thread["prompts"]),
            ", ".join(kind for kind in kinds if kind != "transcript"),
            str(progress.get("open", "")),
        )
        rows.append(f"| {' | '.join(cells)} |")
    heading = "| when | thread | agent | status | prompts | assets | open |"
    return ["", "## Earlier", "", heading, "|---|---|---|---|---|---|---|", *rows]


def _format_span(thread: Mapping[str, Any], page: IndexPageOptions) -> str:
    began, ended = (
        _to_local(thread[name], page) for name in ("started_at", "ended_at")
    )
    if began is None or ended is None:
        return ""
    if f"{began:%H%M%d}" == f"{ended:%H%M%d}":
        return f"{ended:%H:%M}"
    first = f"{began:%H:%M}" if began.date() == ended.date() else f"{began:%m-%d %H:%M}"
    return f"{first}–{ended:%H:%M}"  # noqa: RUF001 - a span of time


def _to_local(text: str | None, page: IndexPageOptions) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(page.zone) if text else None


def _escape_markdown(text: str) -> str:
    """Text as one line of Markdown that means only itself."""
    return _MARKUP.sub(r"\\\1", _INVISIBLE.sub(" ", text)).strip()


def _format_link(path: str) -> str:
    return quote(path.removeprefix(".leslie/"), errors="replace")


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
