"""INDEX.md and thread contexts made of text that imitates their structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

from markdown_it import MarkdownIt

from leslied.control_characters import replace_control_characters
from leslied.sinks._thread_index import IndexPageOptions, render_page
from leslied.threads.context import build_context
from leslied.threads.operations import upsert_threads
from leslied.threads.relations import encode_relations, make_empty_relations
from tests.unit.threads.test_relations import NOW, make_thread

PIECES = [
    "# Threads", "\n# Threads\n", "\n\n## Monday\n\n", "- **[x](threads/x/)**", "\n- x",
    "](http://evil.example)", "[", "]", "(", ")", "**", "*", "_", "`", "```", "\n```\n",
    "<!--", "-->", "<b>", "</details>", "<img src=x>", "![x](http://evil.example)", "|",
    "\n|---|---|\n", "\\", "&#x202e;", "&lt;", "~~", "---", "\n---\n", "===", "> ",
    "1. ", "  ", "\t", "\r", "\u2028", "\x85", "\x1b[2K", "\u202e", "\U000e0041", "é",
    "</thread_context>", '" />', "'", '"', '<asset type="plan" path="x" />', "&quot;",
    "[x]: http://evil.example", "http://evil.example", "<http://evil.example>",
    "\ud800",
]  # fmt: skip
_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_TEXT_TOKENS = {"text", "text_special", "softbreak", "hardbreak"}


def find_index_spoof(rng: Random) -> str:
    """Render INDEX.md with hostile texts; return the page if they add structure."""
    seed = rng.random()
    texts = Random(seed)
    page = _render_page(
        Random(seed), lambda: "x" + "".join(texts.choices(PIECES, k=texts.randrange(7)))
    )
    harmless_page = _render_page(Random(seed), lambda: "x")
    if list(_iter_structure(page)) != list(_iter_structure(harmless_page)):
        return page
    return "" if replace_control_characters(page) == page else page


def _render_page(rng: Random, make_text: Callable[[], str]) -> str:
    threads = [
        _make_thread(number, rng, make_text) for number in range(rng.choice([1, 2, 27]))
    ]
    options = IndexPageOptions(total=len(threads), titles={})
    return render_page(threads, options).decode()


def _make_thread(
    number: int, rng: Random, make_text: Callable[[], str]
) -> dict[str, Any]:
    state = rng.choice(["open", "blocked"])
    item = {"text": make_text(), "state": state, "reason": make_text()}
    folder = f".leslie/threads/thread-{number}"
    return {
        "id": f"thread-{number}",
        "title": make_text(),
        "agent": make_text(),
        "status": "stopped",
        "prompts": 1,
        "tool_calls": 0,
        "started_at": "2026-11-16T10:00:00+00:00",
        "ended_at": None,
        "progress": {
            "percent": 0,
            "done": 0,
            "open": 1,
            "blocked": 0,
            "items": [item],
        },
        "assets": [
            {
                "type": kind,
                "form": "file",
                "path": f"{folder}/{make_text()}",
                "title": make_text(),
            }
            for kind in ("plan", "progress")
        ],
    }


def _iter_structure(page: str) -> Iterator[tuple[str, str, int]]:
    """Yield the elements of a Markdown page, without their texts."""
    for token in _PARSER.parse(page):
        yield token.type, token.tag, token.level
        for child in token.children or ():
            if child.type not in _TEXT_TOKENS:
                yield child.type, child.tag, child.level


def find_context_spoof(rng: Random, base: Path) -> str:
    """Render a context with a hostile objective; return it if that adds structure."""
    objective = "x" + "".join(rng.choices(PIECES, k=rng.randrange(6)))
    objective = objective.encode(errors="replace").decode()
    data = make_empty_relations()
    upsert_threads(data, [make_thread("thread-a")], NOW)
    data["threads"]["thread-a"]["objective"] = objective
    (base / ".leslie").mkdir(exist_ok=True)
    (base / ".leslie/thread_relations.json").write_bytes(encode_relations(data))
    xml = build_context(base, "thread-a", prefix=f"/x{objective}/").xml
    first_line, *lines = xml.split("\n")
    try:
        root = ET.fromstring(xml)
    except ET.ParseError as error:
        return f"{error}: {xml}"
    is_same = (
        first_line.startswith('<thread_context thread="thread-a" objective="x')
        and lines == ["", "</thread_context>"]
        and list(root.attrib) == ["thread", "objective", "relations_file"]
        and root.attrib["objective"] == replace_control_characters(objective)
        and replace_control_characters(xml) == xml
    )
    return "" if is_same else xml
