"""The list of sessions while it changes, and when it is long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.session_lists import serve_index, write_lines, write_session
from tests.support.web import BrowserPage, WebServer, open_browser_page, serve_page

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

ROW = ".session-row"
TITLE = ".session-row .session-title"
COUNT = 60
"""Sessions of the home; more than a screen shows."""
MANY = 20_000
SCROLL_AND_LOOK = """async (positions) => {
  const blank = [];
  for (const y of positions) {
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(done));
    for (let at = 150; at < innerHeight - 60; at += 50) {
      const element = document.elementFromPoint(innerWidth / 2, at);
      if (!element?.closest("[data-key], .session-bar, header")) blank.push([y, at]);
    }
  }
  return blank;
}"""
"""Scrolls to each position; returns the places where no row is in the next frame."""


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home with more sessions than a screen shows."""
    for number in range(COUNT):
        write_session(claude, number, hours_ago=number + 1)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


def open_list(browser_page: BrowserPage, query: str = "") -> Page:
    """Open the list and wait until all sessions are loaded."""
    page = browser_page.open(f"/{query}")
    expect(page.locator(".session-count")).not_to_be_empty()
    return page


def find_top(page: Page, title: str) -> float:
    """Return where the row with a title is in the window."""
    box = page.locator(TITLE).get_by_text(title, exact=True).bounding_box()
    assert box
    return box["y"]


def add_permission_dialogs(route: Route) -> None:
    """Let every session of an answer that has not stopped wait for a permission."""
    response = route.fetch()
    answer = response.json()
    for session in answer["data"]["sessions"]:
        if session["status"] != "stopped":
            session["waiting_for"] = "permission"
    route.fulfill(response=response, json=answer)


def test_a_new_session_appears(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    page = open_list(browser_page)

    write_session(claude, 100, "The newest of all")
    assert leslied("sync").code == 0
    expect(page.locator(TITLE).first).to_have_text("The newest of all")
    expect(page.locator(".session-count")).to_contain_text(f"{COUNT + 1} sessions")


def test_a_session_that_goes_on_moves_up_and_is_live(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    builder = write_session(claude, 101, "Goes on")
    page = open_list(browser_page)

    write_lines(claude, builder, builder.prompt("And now?"))
    assert leslied("sync").code == 0
    expect(page.locator(TITLE).first).to_have_text("Goes on")
    expect(page.locator(ROW).first.locator(".dot.live")).to_have_count(1)


def test_a_session_that_waits_for_the_user_says_so(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    browser_page.page.route("**/api/sessions?ids=*", add_permission_dialogs)
    page = open_list(browser_page)
    builder = write_session(claude, 101, "Asks for leave")
    write_lines(claude, builder, builder.prompt("Delete it"))
    assert leslied("sync").code == 0

    expect(page.locator(ROW).first.locator(".dot.waiting")).to_have_count(1)
    page.get_by_role("button", name="Waiting").click()
    expect(page.locator(TITLE)).to_have_text(["Asks for leave"])


def test_the_reader_keeps_the_place_when_sessions_appear_above(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    page = open_list(browser_page)
    page.locator(TITLE).get_by_text("Task 20 of many", exact=True).focus()
    page.evaluate("scrollTo(0, 900)")
    before = find_top(page, "Task 20 of many")

    write_session(claude, 100, "Above")
    assert leslied("sync").code == 0
    expect(page.locator(".session-count")).to_contain_text(f"{COUNT + 1} sessions")
    assert find_top(page, "Task 20 of many") == pytest.approx(before, abs=1)


def test_going_back_to_the_list_keeps_its_place_and_its_filter(
    browser_page: BrowserPage,
):
    page = open_list(browser_page, "?q=task")
    page.evaluate("scrollTo(0, 1200)")
    # The place is kept as soon as the list is drawn there.
    expect(page.locator(TITLE).get_by_text("Task 25 of many")).to_be_in_viewport()
    before = find_top(page, "Task 25 of many")
    page.locator(TITLE).get_by_text("Task 25 of many").click()
    page.wait_for_url("**/s/*")

    page.go_back()
    expect(page.locator(TITLE).get_by_text("Task 25 of many")).to_be_in_viewport()
    assert find_top(page, "Task 25 of many") == pytest.approx(before, abs=1)
    expect(page.locator("input[type=search]")).to_have_value("task")


def test_a_reload_leads_to_the_same_place(browser_page: BrowserPage):
    page = open_list(browser_page)
    row = page.locator(TITLE).get_by_text("Task 25 of many")
    page.evaluate("scrollTo(0, 1200)")
    expect(row).to_be_in_viewport()
    # Only a click or a pause saves the place; the history says when.
    while not page.evaluate("history.state?.sessions?.anchor"):
        page.wait_for_timeout(20)

    page.reload()
    expect(row).to_be_in_viewport()


@pytest.mark.parametrize("width", [390, 1440])
def test_a_long_list_has_rows_wherever_one_scrolls(
    browser: Browser, server: WebServer, width: int
):
    viewport = {"width": width, "height": 800}
    with open_browser_page(browser, server, viewport=viewport) as browser_page:
        serve_index(browser_page.page, MANY)
        page = open_list(browser_page)
        expect(page.locator(".session-count")).to_contain_text("20,000 sessions")
        height = page.evaluate("document.documentElement.scrollHeight")

        steps = [*range(1000, 3000, 333), *range(1000, height - 800, height // 60)]
        assert page.evaluate(SCROLL_AND_LOOK, steps) == []
        assert page.locator("[data-key]").count() < 150
        assert browser_page.problems == []


def test_the_group_is_named_while_its_heading_is_out_of_sight(
    browser_page: BrowserPage,
):
    page = open_list(browser_page, "?group=agent")
    expect(page.locator(".current-group")).to_be_empty()

    page.evaluate("scrollTo(0, 1000)")
    expect(page.locator(".current-group")).to_have_text("claude-code")


def test_the_ends_of_a_long_list_are_a_key_away(browser_page: BrowserPage):
    serve_index(browser_page.page, MANY)
    page = open_list(browser_page)
    expect(page.locator(".session-count")).to_contain_text("20,000 sessions")

    page.keyboard.press("G")
    expect(page.locator(f"{ROW}.selected")).to_be_in_viewport()
    expect(page.locator(f"{ROW}.selected .session-title")).to_have_text("Session 19999")
    page.keyboard.press("g")
    expect(page.locator(f"{ROW}.selected .session-title")).to_have_text("Session 0")


def test_a_long_list_is_filtered(browser_page: BrowserPage):
    serve_index(browser_page.page, MANY)
    page = open_list(browser_page)
    expect(page.locator(".session-count")).to_contain_text("20,000 sessions")

    page.fill("input[type=search]", "1999")
    expect(page.locator(".session-count")).to_contain_text("12 of 20,000 sessions")
    expect(page.locator(ROW)).to_have_count(12)


def test_the_list_stays_when_the_server_is_gone(browser_page: BrowserPage):
    page = open_list(browser_page)
    browser_page.page.route("**/api/**", lambda route: route.abort())

    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.locator(".toast")).to_contain_text("leslied does not answer")
    expect(page.locator(".star[aria-pressed=true]")).to_have_count(0)
    expect(page.locator(ROW).first).to_be_visible()
    browser_page.problems.clear()  # The browser reports the request that failed.


def test_an_error_says_what_to_do(browser_page: BrowserPage):
    browser_page.page.route("**/api/sessions**", lambda route: route.abort())

    page = browser_page.open("/")
    expect(page.get_by_role("alert").first).to_contain_text("leslied does not answer")
    browser_page.problems.clear()  # The browser reports the request that failed.
