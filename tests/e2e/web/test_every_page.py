"""What holds on every page: looks, keyboard, accessibility, states of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from leslied.web.application import PAGES
from tests.support.cli import LesliedRunner
from tests.support.screenshots import write_home
from tests.support.web import (
    BrowserPage,
    WebServer,
    find_accessibility_problems,
    open_browser_page,
    serve_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

WIDTHS = {1440: 900, 390: 844}
THEMES = ("light", "dark")
OTHER_PAGES = [path for path in PAGES if "{" not in path]
TABS = 12
"""How many elements the keyboard test visits on each page."""
FIND_FOCUS_PROBLEM = """
() => {
  const element = document.activeElement;
  if (!element || element === document.body) return "";
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const isSeen = box.width > 0 && box.top < innerHeight && box.bottom > 0;
  const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return isSeen && isMarked ? "" : element.outerHTML.slice(0, 120);
}
"""


class Showcase:
    """The page of a home with many sessions, without a daemon."""

    def __init__(self, server: WebServer, session_id: str) -> None:
        self.server = server
        self._session_id = session_id

    def fill(self, path: str) -> str:
        """Return a path of `PAGES` with the id of a session."""
        return path.replace("{id}", self._session_id)


@pytest.fixture(scope="module")
def showcase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Showcase]:
    home = tmp_path_factory.mktemp("home")
    now = datetime.now(UTC).replace(tzinfo=None)
    session_id = write_home(home, now, timedelta()).bug_fix.session_id
    leslied = LesliedRunner(home)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield Showcase(server, session_id)


@contextmanager
def open_width(
    browser: Browser, showcase: Showcase, width: int, **options: Any
) -> Iterator[BrowserPage]:
    """Open a page of this width; nothing may go wrong in it."""
    size = {"width": width, "height": WIDTHS[width]}
    options = {"viewport": size, **options}
    with open_browser_page(browser, showcase.server, **options) as browser_page:
        yield browser_page
        assert browser_page.problems == []


@pytest.fixture
def desktop(browser: Browser, showcase: Showcase) -> Iterator[BrowserPage]:
    with open_width(browser, showcase, 1440) as browser_page:
        yield browser_page


@pytest.fixture
def phone(browser: Browser, showcase: Showcase) -> Iterator[BrowserPage]:
    with open_width(browser, showcase, 390) as browser_page:
        yield browser_page


def open_at_rest(browser_page: BrowserPage, path: str) -> Page:
    """Open a page, and wait until it asks for nothing more."""
    page = browser_page.open(path)
    page.wait_for_selector(".live-state[data-state=not-reading]")
    expect(page.locator(".skeleton")).to_have_count(0)
    return page


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_accessible(
    browser: Browser, showcase: Showcase, path: str, theme: str, width: int
):
    with open_width(browser, showcase, width, color_scheme=theme) as browser_page:
        page = open_at_rest(browser_page, showcase.fill(path))

        assert find_accessibility_problems(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_a_phone(phone: BrowserPage, showcase: Showcase, path: str):
    page = open_at_rest(phone, showcase.fill(path))

    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_one_main_heading_and_a_title(
    desktop: BrowserPage, showcase: Showcase, path: str
):
    page = open_at_rest(desktop, showcase.fill(path))

    expect(page.locator("h1")).to_have_count(1)
    assert page.title().endswith("leslied")


@pytest.mark.parametrize("path", PAGES)
def test_help_lists_the_shortcuts(desktop: BrowserPage, showcase: Showcase, path: str):
    page = open_at_rest(desktop, showcase.fill(path))
    page.locator("main").focus()

    page.keyboard.press("?")

    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_text("Everywhere")).to_be_visible()
    assert find_accessibility_problems(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


@pytest.mark.parametrize("path", PAGES)
def test_the_element_with_the_focus_is_visible_and_marked(
    desktop: BrowserPage, showcase: Showcase, path: str
):
    page = open_at_rest(desktop, showcase.fill(path))

    invisible = []
    for _ in range(TABS):
        page.keyboard.press("Tab")
        if problem := page.evaluate(FIND_FOCUS_PROBLEM):
            invisible.append(problem)

    assert invisible == []


def test_the_first_tab_skips_the_bar(desktop: BrowserPage):
    page = open_at_rest(desktop, "/")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize(("number", "path"), list(enumerate(OTHER_PAGES, 1)))
def test_a_digit_leads_to_a_page(desktop: BrowserPage, number: int, path: str):
    page = open_at_rest(desktop, "/stats" if path == "/" else "/")

    page.keyboard.press(str(number))

    page.wait_for_url(f"**{path}")
    current = page.locator("nav [aria-current=page]")
    expect(current).to_have_attribute("href", path)


def test_the_theme_is_remembered(desktop: BrowserPage):
    page = open_at_rest(desktop, "/stats")
    page.keyboard.press("t")
    page.keyboard.press("t")

    page.reload()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()


def test_the_first_frame_has_the_chosen_theme(desktop: BrowserPage):
    page = open_at_rest(desktop, "/stats")
    page.evaluate("localStorage.setItem('leslied-theme', 'dark')")
    page.add_init_script(
        "requestAnimationFrame(() => { window.firstTheme ="
        " document.documentElement?.dataset.theme ?? 'none'; })"
    )

    page.reload()

    page.wait_for_function("window.firstTheme !== undefined")
    assert page.evaluate("window.firstTheme") == "dark"


def test_the_theme_follows_the_system(desktop: BrowserPage):
    page = open_at_rest(desktop, "/stats")

    page.emulate_media(color_scheme="dark")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_navigation_is_at_the_bottom_of_a_phone(phone: BrowserPage):
    page = open_at_rest(phone, "/")

    box = page.locator("nav[aria-label=Pages]").bounding_box()
    assert box
    assert box["y"] + box["height"] == WIDTHS[390]


@pytest.mark.parametrize("path", PAGES)
def test_the_bar_is_not_printed(desktop: BrowserPage, showcase: Showcase, path: str):
    page = open_at_rest(desktop, showcase.fill(path))

    page.emulate_media(media="print")

    expect(page.locator("#shell")).to_be_hidden()
    expect(page.locator("main")).to_be_visible()


def test_the_bar_says_that_nothing_is_read_and_what_to_do(desktop: BrowserPage):
    page = open_at_rest(desktop, "/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    expect(page.get_by_role("status").first).to_contain_text(
        "not reading — run: leslied service install"
    )
    page.click(".live-state")
    page.get_by_role("button", name="Copy command").click()
    expect(page.locator(".toast")).to_have_text("Command copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "leslied service install"


@pytest.mark.parametrize("path", OTHER_PAGES)
def test_a_page_without_a_store_says_what_to_do(
    browser: Browser, leslied: LesliedRunner, path: str
):
    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = browser_page.open(path)

        expect(page.locator("main")).to_contain_text("leslied")
        assert find_accessibility_problems(page) == []
        assert [p for p in browser_page.problems if "Failed to load" not in p] == []


def test_the_page_says_when_the_server_is_gone(
    browser: Browser, leslied: LesliedRunner
):
    with serve_page(leslied) as server:
        context = open_browser_page(browser, server)
        browser_page = context.__enter__()
        page = browser_page.open("/")
        page.wait_for_selector(".live-state[data-state=not-reading]")

    expect(page.locator(".live-state")).to_contain_text("connection lost")
    page.click("nav >> text=Stats")
    expect(page.get_by_role("alert")).to_contain_text("leslied does not answer.")
    context.__exit__(None, None, None)


def test_the_page_connects_again(browser: Browser, leslied: LesliedRunner):
    with serve_page(leslied) as first:
        context = open_browser_page(browser, first)
        page = context.__enter__().open("/")
    expect(page.locator(".live-state")).to_contain_text("connection lost")

    with serve_page(leslied, port=first.port):
        expect(page.locator(".live-state")).to_contain_text("not reading")
    context.__exit__(None, None, None)
