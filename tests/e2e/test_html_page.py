"""HTML pages rendered from hostile text, loaded in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import find_browser, open_page
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session, render_main_text

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

EVIL = (
    '"><script src=http://evil.example/a.js></script>'
    "<img src=http://evil.example/b.png onerror=console.error(1)><style>@import url(http://evil.example/c.css)</style>"
    "</pre></details><svg onload=console.error(2)><iframe src=http://evil.example/d>"
)
MARKDOWN = (
    "# A heading\n\n![p](https://evil.example/e.png) [x](javascript:console.error(3)) "
    "[y](data:text/html,1) [web](https://ok.example/) <b>raw</b>\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = '</code></pre><script>';\n```\n"
)


@pytest.fixture
def page(claude: ClaudeHome, clock: FakeClock) -> str:
    """Render a session with a payload in every field."""
    builder = ClaudeLogBuilder(cwd=f"/home/dev/{EVIL}")
    claude.write(
        builder.line("ai-title", aiTitle=EVIL),
        builder.prompt(f"fix it {EVIL}"),
        builder.think(EVIL, model=EVIL),
        builder.answer(MARKDOWN + EVIL, stop_reason=None),
        builder.call(EVIL, {EVIL: EVIL, "command": EVIL}, "toolu_1"),
        builder.result("toolu_1", EVIL, is_error=True),
        builder.call("Edit", {"old_string": "a\nb", "new_string": "a\nc" + EVIL}, "t2"),
        builder.result("t2", "done"),
        builder.result("t3", "nobody asked"),
        builder.prompt("and now?"),
        builder.answer("All is well."),
    )
    claude.sync(is_final=True)
    return render_main_text(read_session(claude.store_path, clock), "html")


@pytest.fixture
def browser() -> str:
    path = find_browser()
    if not path:
        pytest.skip("no browser found; set LESLIED_BROWSER")
    return path


@pytest.mark.threat("R2", "R3")
def test_the_page_runs_no_scripts_and_requests_nothing(
    page: str, browser: str, tmp_path: Path
):
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")

    result = open_page(browser, file, tmp_path)

    assert result.console == []
    assert [url for url in result.requests if "example" in url] == []
    assert "All is well." in result.dom
    for tag in ("<script", "<img", "<iframe", "<svg", 'href="javascript', "<b>raw"):
        assert tag not in result.dom, tag


def test_the_browser_reports_scripts_and_requests(browser: str, tmp_path: Path):
    """Check that the test above can fail: load the same text unescaped."""
    file = tmp_path / "page.html"
    file.write_text(f'<p title="{EVIL}')

    result = open_page(browser, file, tmp_path)

    assert len(result.console) >= 2
    assert any("evil.example" in url for url in result.requests)


@pytest.mark.threat("R2", "R3")
def test_text_of_a_log_is_escaped(page: str):
    assert "evil.example" in page
    for tag in ("<script", "<img", "<iframe", "<svg", 'href="javascript', 'href="data'):
        assert tag not in page, tag
    assert '<a href="https://ok.example/" rel="noopener noreferrer">' in page
    assert "<del>-b</del>" in page
