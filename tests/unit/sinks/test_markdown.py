"""Markdown pages: no words of a log become structure of the page."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from leslied.model.session import Session
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session, render_one

HOSTILE = [
    "# Fake\n\n## 2. Fake\n\n### User\n\nno",
    "Fake\n===\n\nAlso\n---\nend",
    "```\nnever closed",
    "~~~~ js\n~~~\n```\nstill open",
    "````\n```\n### User\n```\n",
    "<details><summary>x</summary>",
    "<!-- a comment that eats the page",
    "<script>alert(1)</script> `<b>` ok",
    "![p](https://evil.example/p.png)",
    "    indented\n\t# code",
    "- item\n\n      ```\n      open in a list",
    "</details>\n</details>",
    "\\\\<b>\\![x](y)",
    "\\<b>x</b>",
    "a `\nb ` <b> ` c",
    "\\`<b>\\`",
    "- `\n- ` <b> `",
    "`` ` <b> ` ``\n`` <b>",
]


def page_of(claude: ClaudeHome, clock: FakeClock, text: str) -> tuple[Session, str]:
    talk = ClaudeLogBuilder()
    claude.write(
        talk.prompt(f"one {text}"),
        talk.call("Bash", {"command": text}, "t1"),
        talk.result("t1", text),
        talk.answer(text),
        talk.prompt("two"),
        talk.answer("the last words"),
    )
    claude.sync(is_final=True)
    session = read_session(claude.store_path, clock)
    return session, render_one(session, "markdown")


@pytest.mark.parametrize("text", HOSTILE)
def test_headings_of_the_page_are_the_pages_own(
    claude: ClaudeHome, clock: FakeClock, text: str
):
    _, page = page_of(claude, clock, text)

    tokens = MarkdownIt("commonmark").parse(page)

    tops = [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in ("h1", "h2", "h3")
    ]
    said = [top.partition(" · ")[0] for top in tops]
    assert said[2:5] == ["User", "Assistant", "Assistant"]
    assert said[5:] == ["2. two", "User", "Assistant"]
    assert tokens[-2].content == "the last words"


@pytest.mark.parametrize("text", HOSTILE)
def test_only_folds_are_html_and_nothing_is_fetched(
    claude: ClaudeHome, clock: FakeClock, text: str
):
    _, page = page_of(claude, clock, text)

    shown = MarkdownIt("commonmark").render(page)

    tags = set(re.findall(r"<(script|img|b|details|summary)\b", shown))
    assert tags <= {"details", "summary"}
    assert shown.count("<details>") == shown.count("</details>") == 1
    assert "<!--" not in shown
