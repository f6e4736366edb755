"""HTML pages show all of an answer."""

from __future__ import annotations

import pytest

from leslied.model.session import Session
from leslied.sinks.html import render
from tests.support.records import make_prompt, make_record
from tests.support.units import make_summary, make_unit


def render_answer(text: str) -> str:
    unit = make_unit(make_prompt("go"), make_record(text))
    session = Session(summary=make_summary(), units=(unit,), status="idle")
    (page,) = render(session)
    return page.body.decode()


@pytest.mark.threat("R2")
@pytest.mark.parametrize(
    ("text", "html"),
    [
        pytest.param("> " * 30 + "secret", "<p>secret</p>", id="nested"),
        pytest.param("> " * 99 + "secret", "&gt; secret</div>", id="nested deeply"),
        pytest.param("[secret]: /x", "<p>[secret]: /x</p>", id="a definition"),
        pytest.param("|a|\n|-|\n|b|secret|", "|b|secret|", id="a surplus cell"),
        pytest.param("```secret x\n```", ">secret x</p>", id="words after a fence"),
        pytest.param("1. a\n7. b", '<li value="7">b</li>', id="a number"),
        pytest.param("[](http://x.y)", ">http://x.y</a>", id="a link without text"),
        pytest.param("&#x202e;&shy;", "&lt;U+202E&gt;&lt;U+00AD&gt;", id="references"),
    ],
)
def test_a_page_shows_what_a_parser_would_drop(text: str, html: str):
    assert html in render_answer(text)
