"""Code as HTML with class names."""

from __future__ import annotations

import re
from html import unescape

import pytest

from leslied.rendering.highlight import MAX_CHARACTERS, find_language, highlight_code
from tests.support.html_payloads import PAYLOADS

CODE = 'def f(x):\n    return "<b>"  # why\n'


def strip_tags(html: str) -> str:
    return unescape(re.sub(r'</?span(?: class="tok-\w+")?>', "", html))


def test_tokens_have_class_names():
    html = highlight_code(CODE, "python")

    assert '<span class="tok-keyword">def</span>' in html
    assert '<span class="tok-comment"># why</span>' in html


@pytest.mark.parametrize("language", ["python", "Py", "html", "nonsense", ""])
def test_highlighting_changes_no_text(language: str):
    assert strip_tags(highlight_code(CODE, language)) == CODE


@pytest.mark.threat("W5")
@pytest.mark.parametrize("language", ["html", "javascript", "bash", "diff"])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_code_of_a_log_never_becomes_markup(payload: str, language: str):
    html = highlight_code(payload, language)

    assert not re.search(r"<(?!/?span)", html)


def test_long_code_is_escaped_and_not_highlighted():
    code = "x = '<'\n" * (MAX_CHARACTERS // 8 + 1)

    assert "<span" not in highlight_code(code, "python")
    assert "&lt;" in highlight_code(code, "python")


@pytest.mark.parametrize(
    ("path", "language"),
    [("/a/b.py", "python"), ("x.tsx", "typescript"), ("Makefile", ""), ("a.go", "go")],
)
def test_the_ending_of_a_path_names_the_language(path: str, language: str):
    assert find_language(path) == language
