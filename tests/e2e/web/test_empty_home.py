"""The page before anything has been read, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session
from tests.support.web import BrowserPage, WebServer, serve_page

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]


@pytest.fixture
def server(leslied: LesliedRunner) -> Iterator[WebServer]:
    """The page of a home in which nothing has been read."""
    with serve_page(leslied) as server:
        yield server


@pytest.mark.parametrize("path", ["/", "/search?q=x", "/files", "/stats", "/threads"])
def test_a_page_says_what_to_do_and_shows_what_is_read_then(
    browser_page: BrowserPage, claude: ClaudeHome, leslied: LesliedRunner, path: str
):
    page = browser_page.open(path)
    alert = page.locator("main .message-box[role=alert]")
    expect(alert).to_contain_text("Nothing has been read yet.")
    expect(alert.locator("code")).to_have_text("leslied sync")
    write_sample_session(claude)
    assert leslied("sync", "--stop-all").code == 0

    expect(alert).to_have_count(0)
    # The browser logs the status of the first answers.
    browser_page.problems.clear()
