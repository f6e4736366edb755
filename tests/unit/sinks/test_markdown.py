"""Markdown pages: text of a log never becomes structure of the page."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session, render_main_text

HOSTILE_TEXTS = [
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


def render_page(claude: ClaudeHome, clock: FakeClock, text: str) -> str:
    """Return the page of a session with this text in all kinds of entries."""
    builder = ClaudeLogBuilder()
    claude.write(
        builder.prompt(f"one {text}"),
        builder.call("Bash", {"command": text}, "t1"),
        builder.result("t1", text),
        builder.answer(text),
        builder.prompt("two"),
        builder.answer("the last words"),
    )
    claude.sync(is_final=True)
    session = read_session(claude.store_path, clock)
    return render_main_text(session, "markdown")


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_the_text_of_a_log_adds_no_headings_to_the_page(
    claude: ClaudeHome, clock: FakeClock, text: str
):
    page = render_page(claude, clock, text)

    tokens = MarkdownIt("commonmark").parse(page)

    headings = [
        tokens[at + 1].content.partition(" · ")[0]
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in ("h1", "h2", "h3")
    ]
    assert headings[2:5] == ["User", "Assistant", "Assistant"]
    assert headings[5:] == ["2. two", "User", "Assistant"]
    assert tokens[-2].content == "the last words"


@pytest.mark.threat("R2", "R3")
@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_page_has_no_html_except_for_folding_and_loads_nothing(
    claude: ClaudeHome, clock: FakeClock, text: str
):
    page = render_page(claude, clock, text)

    html = MarkdownIt("commonmark").render(page)

    tags = set(re.findall(r"<(script|img|b|details|summary)\b", html))
    assert tags <= {"details", "summary"}
    assert html.count("<details>") == html.count("</details>") == 1
    assert "<!--" not in html
