"""HTML and Markdown pages rendered from hostile text, loaded in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.support.browser import PageResult, find_browser, open_page
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session, render_main_text
from tests.support.html_payloads import PAYLOADS

pytestmark = [pytest.mark.e2e, pytest.mark.heavy, pytest.mark.threat("R2", "R3")]

MARKDOWN = (
    "# A heading\n\n![p](https://evil.example/e.png) [x](javascript:console.error(3)) "
    "[y](data:text/html,1) [web](https://ok.example/) <b>raw</b>\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = '</code></pre><script>';\n```\n"
)
ACTIVE_TAGS = (
    "<script", "<img", "<iframe", "<svg", "<object", "<embed", "<video", "<audio",
    "<link", "<base", "<body onload", "<marquee", "<math", "<xss", "<button", "<b>raw",
    'href="javascript', 'href="data', 'href="vbscript', 'href="file', " onerror=x",
)  # fmt: skip


def iter_lines(builder: ClaudeLogBuilder) -> Iterator[dict[str, Any]]:
    """Yield the lines of a session with every payload in every kind of field."""
    all_payloads = "\n\n".join(PAYLOADS)
    yield builder.line("ai-title", aiTitle=" ".join(PAYLOADS[::9]))
    for number, payload in enumerate(PAYLOADS):
        call = f"toolu_{number}"
        yield builder.prompt(f"{payload} {number}")
        yield builder.think(payload, model=payload)
        yield builder.answer(payload, stop_reason=None)
        yield builder.call(payload, {payload: payload, "command": payload}, call)
        yield builder.result(call, payload, is_error=True)
    edit = {"old_string": "a\nb", "new_string": f"a\nc{all_payloads}"}
    yield builder.call("Edit", edit, "t2")
    yield builder.result("t2", "done")
    yield builder.result("t3", "nobody asked")
    yield builder.prompt("and now?")
    yield builder.answer(MARKDOWN + all_payloads, stop_reason=None)
    yield builder.answer("All is well.")


def render(claude: ClaudeHome, clock: FakeClock, sink: str) -> str:
    builder = ClaudeLogBuilder(cwd=f"/home/dev/{PAYLOADS[0]}{PAYLOADS[31]}")
    claude.write(*iter_lines(builder))
    claude.sync(is_final=True)
    return render_main_text(read_session(claude.store_path, clock), sink)


@pytest.fixture
def page(claude: ClaudeHome, clock: FakeClock) -> str:
    return render(claude, clock, "html")


@pytest.fixture
def browser() -> str:
    path = find_browser()
    if not path:
        pytest.skip("no browser found; set LESLIED_BROWSER")
    return path


def load(browser: str, page: str, folder: Path) -> PageResult:
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    return open_page(browser, file, folder)


def test_the_page_runs_no_scripts_and_requests_nothing(
    page: str, browser: str, tmp_path: Path
):
    result = load(browser, page, tmp_path)

    assert result.console == []
    assert [url for url in result.requests if "example" in url] == []
    assert "All is well." in result.dom
    assert [tag for tag in ACTIVE_TAGS if tag in result.dom] == []


def test_the_browser_reports_scripts_and_requests(browser: str, tmp_path: Path):
    """Check that the tests here can fail: load the payloads unescaped."""
    result = load(browser, "<p>".join(PAYLOADS[1:16]), tmp_path)

    assert len(result.console) >= 2
    assert any("evil.example" in url for url in result.requests)


def test_a_markdown_page_runs_no_scripts_and_requests_nothing(
    claude: ClaudeHome, clock: FakeClock, browser: str, tmp_path: Path
):
    """Render it as readers do that allow raw HTML and every kind of link."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    reader.validateLink = lambda _url: True  # type: ignore[method-assign]
    page = reader.render(render(claude, clock, "markdown"))

    result = load(browser, f"<!doctype html><meta charset=utf-8>{page}", tmp_path)

    assert result.console == []
    assert [url for url in result.requests if "example" in url] == []
    assert "All is well." in result.dom
    assert [tag for tag in ACTIVE_TAGS if tag in result.dom] == []


def test_text_of_a_log_is_escaped(page: str):
    assert "evil.example" in page
    assert [tag for tag in ACTIVE_TAGS if tag in page] == []


def test_markdown_of_an_answer_is_rendered(page: str):
    assert '<a href="https://ok.example/" rel="noopener noreferrer">' in page
    assert "<del>-b</del>" in page


def test_the_page_forbids_scripts_and_requests(page: str):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)

    assert policy
    assert policy[1].startswith("default-src 'none'; style-src 'unsafe-inline'")
