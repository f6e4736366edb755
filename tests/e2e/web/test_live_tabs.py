"""Many tabs share one connection for events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.waiting import MAX_WAIT_SECONDS
from tests.support.web import WebServer, open_browser_page

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

RECORD = """async () => {
  const live = await import("/static/lib/live.js");
  window.heard = [];
  live.onLive((event) => window.heard.push(...(event.ids ?? [])));
  live.onReconnect(() => window.heard.push("gap"));
}"""
"""A script that keeps the events that a tab gets."""


@pytest.fixture
def tabs(browser: Browser, server: WebServer) -> Iterator[list[Page]]:
    """More tabs than a browser opens connections to one server."""
    with open_browser_page(browser, server) as browser_page:
        pages = [browser_page.open("/")]
        for _ in range(7):
            page = browser_page.page.context.new_page()
            page.set_default_timeout(MAX_WAIT_SECONDS * 1000)
            page.goto(server.base + "/")
            page.wait_for_selector("main > *")
            pages.append(page)
        for page in pages:
            page.evaluate(RECORD)
        yield pages
        assert browser_page.problems == []


def write_session(claude: ClaudeHome, leslied: LesliedRunner, name: str) -> None:
    claude.write(ClaudeLogBuilder(name).prompt(name), name=f"-p/{name}.jsonl")
    assert leslied("sync").code == 0


def wait_for(pages: list[Page], text: str) -> None:
    for page in pages:
        page.wait_for_function("(text) => window.heard.includes(text)", arg=text)


def test_every_tab_gets_the_events(
    tabs: list[Page], claude: ClaudeHome, leslied: LesliedRunner
):
    write_session(claude, leslied, "more")

    wait_for(tabs, "more")


def test_every_tab_knows_whether_the_daemon_runs(tabs: list[Page]):
    for page in tabs:
        page.wait_for_selector("[data-state=not-reading], [data-state=live]")


def test_when_the_listening_tab_is_closed_another_one_listens(
    tabs: list[Page], claude: ClaudeHome, leslied: LesliedRunner
):
    tabs[0].close()
    wait_for(tabs[1:], "gap")
    write_session(claude, leslied, "later")

    wait_for(tabs[1:], "later")
