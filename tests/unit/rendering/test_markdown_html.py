"""Text and Markdown as safe HTML."""

from __future__ import annotations

import re

import pytest

from leslied.rendering.markdown_html import (
    render_markdown_html,
    render_pre,
    render_text,
)
from tests.support.html_payloads import PAYLOADS

_TAG = re.compile(r"<(/?)([a-z0-9]+)((?:\s[^<>]*)?)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r'\s([a-z-]+)="([^"]*)"')
_ALLOWED_TAGS = {
    *("div", "p", "pre", "code", "span", "a", "ul", "ol", "li", "em", "strong", "s"),
    *("blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
}
_ALLOWED_ATTRIBUTES = {"class", "href", "rel", "title", "start", "value"}


def find_unsafe(html: str) -> list[str]:
    """Return the tags and attributes that must not come from a log."""
    problems = []
    for _, tag, attributes in _TAG.findall(html):
        names = dict(_ATTRIBUTE.findall(attributes))
        is_web = names.get("href", "http:").startswith(("http:", "https:", "mailto:"))
        if tag.lower() not in _ALLOWED_TAGS or not is_web:
            problems.append(tag)
        problems += names.keys() - _ALLOWED_ATTRIBUTES
    return problems


@pytest.mark.threat("W5")
@pytest.mark.parametrize("with_colours", [False, True])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown_of_a_log_makes_only_harmless_elements(
    payload: str, *, with_colours: bool
):
    assert find_unsafe(render_markdown_html(payload, with_colours=with_colours)) == []


@pytest.mark.threat("W5")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_plain_text_of_a_log_makes_no_elements(payload: str):
    assert render_text(payload).count("<") == 2
    assert render_pre(payload).count("<") == 2


def test_the_alignment_of_cells_is_a_class_and_not_a_style():
    html = render_markdown_html("|a|b|\n|-:|:-:|\n|1|2|")

    assert 'class="align-right"' in html
    assert 'class="align-center"' in html
    assert "style=" not in html


def test_code_is_coloured_on_request():
    text = "```python\nreturn 1\n```"

    assert "tok-keyword" in render_markdown_html(text, with_colours=True)
    assert "tok-keyword" not in render_markdown_html(text)
