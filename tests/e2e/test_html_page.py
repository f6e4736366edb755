"""The HTML page in a real browser, made of words that want to be more than words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import find_browser, open_page
from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.clock import FakeClock
from tests.support.exports import read_session, render_one

pytestmark = pytest.mark.e2e

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
    """One payload in every field that a log has."""
    talk = ClaudeLogBuilder(cwd=f"/home/dev/{EVIL}")
    claude.write(
        talk.line("ai-title", aiTitle=EVIL),
        talk.prompt(f"fix it {EVIL}"),
        talk.think(EVIL, model=EVIL),
        talk.answer(MARKDOWN + EVIL, stop_reason=None),
        talk.call(EVIL, {EVIL: EVIL, "command": EVIL}, "toolu_1"),
        talk.result("toolu_1", EVIL, is_error=True),
        talk.call("Edit", {"old_string": "a\nb", "new_string": "a\nc" + EVIL}, "t2"),
        talk.result("t2", "done"),
        talk.result("t3", "nobody asked"),
        talk.prompt("and now?"),
        talk.answer("All is well."),
    )
    claude.sync(is_final=True)
    return render_one(read_session(claude.store_path, clock), "html")


@pytest.fixture
def browser() -> str:
    found = find_browser()
    if not found:
        pytest.skip("no browser here; LESLIED_BROWSER can name one")
    return found


def test_the_page_shows_everything_and_runs_and_fetches_nothing(
    page: str, browser: str, tmp_path: Path
):
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")

    seen = open_page(browser, file, tmp_path)

    assert seen.console == []
    assert [url for url in seen.requests if "example" in url] == []
    assert "All is well." in seen.dom
    for tag in ("<script", "<img", "<iframe", "<svg", 'href="javascript', "<b>raw"):
        assert tag not in seen.dom, tag


def test_the_look_would_see_a_script_and_a_request(browser: str, tmp_path: Path):
    file = tmp_path / "page.html"
    file.write_text(f'<p title="{EVIL}')

    seen = open_page(browser, file, tmp_path)

    assert len(seen.console) >= 2
    assert any("evil.example" in url for url in seen.requests)


def test_no_word_of_a_log_becomes_a_tag(page: str):
    assert "evil.example" in page
    for tag in ("<script", "<img", "<iframe", "<svg", 'href="javascript', 'href="data'):
        assert tag not in page, tag
    assert '<a href="https://ok.example/" rel="noopener noreferrer">' in page
    assert "<del>-b</del>" in page
