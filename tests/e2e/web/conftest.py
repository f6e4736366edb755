"""Fixtures of the tests of the page: a server with a session, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browser import find_browser
from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session
from tests.support.web import (
    BrowserPage,
    WebServer,
    launch_browser,
    open_browser_page,
    serve_page,
)


@pytest.fixture
def leslied(home: Path) -> LesliedRunner:
    return LesliedRunner(home)


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home with the sample session."""
    write_sample_session(claude)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one module.

    Playwright keeps an event loop in this thread, with which tests of other modules
    could not run their own.
    """
    if not find_browser():
        pytest.skip("no Chromium; install one, or set LESLIED_BROWSER")
    with launch_browser() as browser:
        yield browser


@pytest.fixture
def browser_page(browser: Browser, server: WebServer) -> Iterator[BrowserPage]:
    """A page in the browser; nothing may go wrong in it."""
    with open_browser_page(browser, server) as browser_page:
        yield browser_page
        assert browser_page.problems == []
