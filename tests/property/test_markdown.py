"""Markdown pages escape whatever text an agent writes."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from leslied.sinks.markdown import _sanitize_markdown

PIECES = [
    "`", "``", "```", "~~~", "\\", "<b>", "</b>", "<!--", "<script>", "\n", "\n\n",
    "- ", "> ", "1. ", "    ", "\t", "![x](y)", "[x]: y", "words", " ", "#", "## h",
    "---", "===", "|", "*", "<", "!", "[", "](z)",
]  # fmt: skip
EXAMPLES = int(os.environ.get("LESLIED_EXAMPLES", "300"))


@pytest.mark.threat("R2", "R3")
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_tag_image_or_heading_of_level_1_or_2_is_rendered(text: str):
    page = "\n".join(["before", "", *_sanitize_markdown(text), "", "### After"])

    html = MarkdownIt("commonmark").render(page)

    assert not re.search(r"<(b|script|img)\b|<!--|<h[12]>", html)
    assert html.rstrip().endswith("<h3>After</h3>")
