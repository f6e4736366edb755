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

MOST_THREADS = 500
"""The index lists so many threads, the last active first; the store knows all."""
_MOST_TOLD = 25
"""So many are told of at length, the others in a table."""
_MOST_LISTED = 200
_MOST_ITEMS = 5
_ORDER = ("plan", "progress", "design", "learnings", "discuss")
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+"
)
_MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")
_NOTE = "<!-- Written by leslied; changes here are lost. -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
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
        {"version": 1, "thread_count": total, "threads": list(threads[:MOST_THREADS])}
    )


def render_page(threads: Sequence[Mapping[str, Any]], page: Page) -> bytes:
    """The project's index for people: threads, the last active first."""
    lines = [_NOTE, "", "# Threads", "", _sum_up(threads, page)]
    day = ""
    for thread in threads[:_MOST_TOLD]:
        when = _local(thread["ended_at"] or thread["started_at"], page)
        if when and f"{when:%A, %Y-%m-%d}" != day:
            day = f"{when:%A, %Y-%m-%d}"
            lines += ["", f"## {day}", ""]
        lines += _tell(thread, page)
    lines += _table(threads[_MOST_TOLD:_MOST_LISTED], page)
    left = page.total - min(len(threads), _MOST_LISTED)
    if left > 0:
        lines += ["", f"{_count(left, 'older thread')} more: `leslied list`"]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _sum_up(threads: Sequence[Mapping[str, Any]], page: Page) -> str:
    open_items = sum((t["progress"] or {}).get("open", 0) for t in threads)
    blocked = sum((t["progress"] or {}).get("blocked", 0) for t in threads)
    parts = [_count(page.total, "thread") + ", last active first"]
    if open_items:
        parts.append(_count(open_items, "open item"))
    if blocked:
        parts.append(f"{blocked} blocked")
    return " · ".join(parts) + "."


def _tell(thread: Mapping[str, Any], page: Page) -> Iterator[str]:
    facts = [
        f"**[{_words(thread['title'] or thread['id'])}](threads/{thread['id']}/)**",
        _words(page.titles.get(thread["agent"], thread["agent"])),
        _span(thread, page),
        thread["status"],
        _count(thread["prompts"], "prompt"),
        _count(thread["tool_calls"], "tool call"),
        *_tell_transcripts(thread),
        f"`{thread['id']}`",
    ]
    yield f"- {' · '.join(fact for fact in facts if fact)}"
    for asset in _sort(thread):
        yield from (f"  {line}" for line in _tell_asset(asset, thread))


def _tell_transcripts(thread: Mapping[str, Any]) -> Iterator[str]:
    for asset in thread["assets"]:
        if asset["type"] == "transcript" and asset["files"]:
            yield f"[{_count(asset['files'], 'transcript')}]({_link(asset['path'])}/)"


def _sort(thread: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What agents and people wrote, in the order of the types."""
    own = [asset for asset in thread["assets"] if asset["type"] != "transcript"]
    return sorted(own, key=lambda asset: _ORDER.index(asset["type"]))


def _tell_asset(asset: Mapping[str, Any], thread: Mapping[str, Any]) -> Iterator[str]:
    kind, path = asset["type"], _link(asset["path"])
    progress = thread["progress"]
    if asset["form"] == "folder":
        files = asset["files"]
        yield f"- {kind}: [{_count(files, 'file') if files else 'empty'}]({path}/)"
        return
    told = " (collected)" if asset.get("collected") else ""
    if kind == "progress" and progress:
        yield f"- {kind}: [{_tell_progress(progress)}]({path}){told}"
        yield from _tell_left(progress)
    else:
        yield f"- {kind}: [{_words(asset['title'])}]({path}){told}"


def _tell_progress(progress: Mapping[str, Any]) -> str:
    parts = [f"{progress['done']} done", f"{progress['open']} open"]
    if progress["blocked"]:
        parts.append(f"{progress['blocked']} blocked")
    percent = progress["percent"]
    return ", ".join([*([f"{percent} %"] if percent is not None else []), *parts])


def _tell_left(progress: Mapping[str, Any]) -> Iterator[str]:
    left = [item for item in progress["items"] if item["state"] != "done"]
    for item in left[:_MOST_ITEMS]:
        why = f" (blocked: {_words(item['reason'])})" if item.get("reason") else ""
        yield f"  - [ ] {_words(item['text'])}{why}"
    total = progress["open"] + progress["blocked"]
    if total > _MOST_ITEMS:
        yield f"  - … and {total - _MOST_ITEMS} more"


def _table(threads: Sequence[Mapping[str, Any]], page: Page) -> list[str]:
    if not threads:
        return []
    rows = []
    for thread in threads:
        when = _local(thread["ended_at"] or thread["started_at"], page)
        link = f"[{_words(thread['title'] or thread['id'])}](threads/{thread['id']}/)"
        progress = thread["progress"] or {}
        kinds = dict.fromkeys(asset["type"] for asset in thread["assets"])
        cells = (
            f"{when:%Y-%m-%d %H:%M}" if when else "",
            link,
            _words(page.titles.get(thread["agent"], thread["agent"])),
            thread["status"],
            str(thread["prompts"]),
            ", ".join(kind for kind in kinds if kind != "transcript"),
            str(progress.get("open", "")),
        )
        rows.append(f"| {' | '.join(cells)} |")
    heading = "| when | thread | agent | status | prompts | assets | open |"
    return ["", "## Earlier", "", heading, "|---|---|---|---|---|---|---|", *rows]


def _span(thread: Mapping[str, Any], page: Page) -> str:
    began, ended = (_local(thread[name], page) for name in ("started_at", "ended_at"))
    if began is None or ended is None:
        return ""
    if f"{began:%H%M%d}" == f"{ended:%H%M%d}":
        return f"{ended:%H:%M}"
    first = f"{began:%H:%M}" if began.date() == ended.date() else f"{began:%m-%d %H:%M}"
    return f"{first}–{ended:%H:%M}"  # noqa: RUF001 - a span of time


def _local(text: str | None, page: Page) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(page.zone) if text else None


def _words(text: str) -> str:
    """Text as one line of Markdown that means only itself."""
    return _MARKUP.sub(r"\\\1", _UNSEEN.sub(" ", text)).strip()


def _link(path: str) -> str:
    return quote(path.removeprefix(".leslie/"), errors="replace")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
