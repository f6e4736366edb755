"""Pages show all of what an agent writes, and none of it is active."""

from __future__ import annotations

import html
import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from leslied.cli.render.markdown import render_markdown
from leslied.control_characters import replace_control_characters
from leslied.rendering.markdown_html import render_markdown_html
from leslied.sinks.markdown import _sanitize_markdown

PIECES = [
    "`", "``", "```", "~~~", "\\", "<b>", "</b>", "<!--", "<script>", "\n", "\n\n",
    "- ", "> ", "1. ", "    ", "\t", "![x](y)", "[x]: y", "words", " ", "#", "## h",
    "---", "===", "|", "*", "<", "!", "[", "](z)",
    "[x](javascript:1)", "[x]: javascript:1", "](", "]:", "javascript:1",
    "<javascript:1>",
    "&#x202e;", "&#8238;", "&zwnj;", "&amp;", "&#106;avascript:1", "[x]", "(", ")",
]  # fmt: skip
EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "300"))
# The strictest reader of a page: it renders raw HTML, and allows links of any kind.
READER = MarkdownIt("commonmark", {"html": True}).enable("table")
READER.validateLink = lambda _url: True  # type: ignore[method-assign]


@pytest.mark.threat("R2", "R3")
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_a_markdown_page_has_no_active_text(text: str):
    page = "\n".join(["before", "", *_sanitize_markdown(text), "", "### After"])

    rendered = READER.render(page)

    assert not re.search(r"<(b|script|img)\b|<!--|<h[12]>", rendered)
    assert not re.search(r'href="(?!https?:|mailto:|[^":]*["/])', rendered)
    assert replace_control_characters(rendered) == rendered
    assert rendered.rstrip().endswith("<h3>After</h3>")


STRUCTURES = [
    "{}", "# {}", "> {}", "> > {}", "- {}", "1. {}", "7) {}", "    {}", "**{}**",
    "~~{}~~", "```{}\n{}\n```", "~~~ py {}\n{}", "`{}`", "[{}](https://e.example/{})",
    "![{}]({})", "[{}]: https://e.example/{}", "[{}](<{}> '{}')", "<{}>", "<!-- {} -->",
    "[](http://{})", "| {} | {} |\n|---|---|\n| {} | {} | {} |", "|{}|\n|-|\n|{}\\|{}|",
    "{}\n===", "\\{}", "<details><summary>{}</summary>{}</details>", "&lt;{}&gt;",
    "[^{}]: {}", "- [ ] {}", "> " * 25 + "{}", "- " * 70 + "{}",
    "1. | {} |\n   |---|\n   | {} | {} |",
]  # fmt: skip
structures = st.lists(st.sampled_from(STRUCTURES), min_size=1, max_size=6)
indents = st.sampled_from(["", "> ", "  ", "- ", "> - "])


@st.composite
def documents(draw) -> tuple[str, list[str]]:
    """Return a Markdown text, and the words in it, each of which occurs once."""
    words: list[str] = []
    blocks = []
    for structure in draw(structures):
        numbers = range(len(words), len(words) + structure.count("{}"))
        blocks.append(structure.format(*(f"w{n}x" for n in numbers)))
        words += (f"w{n}x" for n in numbers)
    indent = draw(indents)
    separator = draw(st.sampled_from(["\n", "\n\n", "\n\n\n"]))
    text = separator.join(blocks)
    return indent + text.replace("\n", f"\n{indent}"), words


@pytest.mark.threat("R2")
@settings(max_examples=EXAMPLES, deadline=None)
@given(documents())
def test_an_html_page_shows_every_word_of_an_answer(document: tuple[str, list[str]]):
    text, words = document

    page = render_markdown_html(text)

    shown = html.unescape(re.sub(r' class="[^"]*"', "", page))
    assert [word for word in words if word not in shown] == []


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents())
def test_a_terminal_shows_every_word_of_an_answer(document: tuple[str, list[str]]):
    text, words = document

    lines = render_markdown(text, 1000)

    shown = "\n".join(lines) if lines is not None else text
    assert [word for word in words if word not in shown] == []
