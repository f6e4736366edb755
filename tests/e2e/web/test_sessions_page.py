"""The list of sessions, in a real browser: what it shows, filters and keys."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.golden import FIXTURES, copy_home
from tests.support.html_payloads import PAYLOADS
from tests.support.pages import write_sample_session
from tests.support.session_lists import write_session
from tests.support.web import (
    BrowserPage,
    WebServer,
    find_accessibility_problems,
    open_browser_page,
    serve_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

ROW = ".session-row"
TITLE = ".session-row .session-title"
FILTER = "input[type=search]"


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home with sessions of two agents, three projects and two days."""
    write_sample_session(claude)
    for number in range(1, 7):
        write_session(claude, number, hours_ago=24 * (number % 2))
    copy_home(FIXTURES / "codex" / "hello", claude.home)
    copy_home(FIXTURES / "claude_code" / "phantom", claude.home)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


def open_list(browser_page: BrowserPage, query: str = "") -> Page:
    """Open the list and wait until all sessions are loaded."""
    page = browser_page.open(f"/{query}")
    expect(page.locator(".session-count")).not_to_be_empty()
    return page


def get_query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_the_list_leads_to_the_session(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.click(TITLE)
    page.wait_for_url("**/s/*")


def test_the_count_says_what_it_counts(browser_page: BrowserPage):
    page = open_list(browser_page)

    expect(page.locator(".session-count")).to_have_text(
        "8 sessions in 4 projects; 2 hidden with neither a prompt nor an answer"
    )


def test_hidden_sessions_are_shown_on_request(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.click(".session-count button")
    expect(page.locator(ROW)).to_have_count(10)
    assert get_query(page) == {"hidden": ["1"]}


def test_sessions_are_grouped_by_day(browser_page: BrowserPage):
    page = open_list(browser_page)

    headings = page.locator(".session-group h2").all_text_contents()
    assert headings[:2] == ["Today", "Yesterday"]


def test_sessions_are_grouped_by_project_and_the_address_says_so(
    browser_page: BrowserPage,
):
    page = open_list(browser_page)

    page.select_option("select[aria-label='Group by']", "project")
    headings = page.locator(".session-group h2")
    expect(headings.filter(has_text="app")).not_to_have_count(0)
    # Two projects have the same last part.
    names = headings.all_text_contents()
    assert {"dev/parser", "old/parser"} <= set(names)
    assert get_query(page) == {"group": ["project"]}


def test_a_click_on_a_column_sorts(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.click(".session-columns .calls")
    expect(page.locator(TITLE).first).to_contain_text("The parser loses")
    expect(page.locator(".session-columns .calls")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert get_query(page) == {"sort": ["tools"]}


@pytest.mark.parametrize(
    ("label", "value", "count"),
    [
        ("Agent", "codex", 1),
        ("Project", "/srv/old/parser", 2),
        ("Status", "stopped", 8),
        ("Time", "today", 3),
    ],
)
def test_a_filter_selects_sessions(
    browser_page: BrowserPage, label: str, value: str, count: int
):
    page = open_list(browser_page)

    page.select_option(f"select[aria-label='{label}']", value)
    expect(page.locator(".session-count")).to_contain_text(f"{count} of 8 sessions")
    expect(page.locator(ROW)).to_have_count(count)


def test_the_filters_of_an_address_are_applied(browser_page: BrowserPage):
    page = open_list(browser_page, "?q=task+many&project=old/parser")

    expect(page.locator(ROW)).to_have_count(2)
    expect(page.locator(FILTER)).to_have_value("task many")


def test_an_invalid_time_is_explained(browser_page: BrowserPage):
    page = open_list(browser_page, "?since=yesteryear")

    expect(page.get_by_role("alert")).to_contain_text("is not a time. Try today")
    expect(page.locator(ROW)).to_have_count(8)


def test_words_are_looked_for_in_any_order_and_case(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.fill(FILTER, "MANY 4 task")
    expect(page.locator(TITLE)).to_have_text(["Task 4 of many"])
    assert get_query(page) == {"q": ["MANY 4 task"]}


def test_without_a_match_the_page_says_what_to_do(browser_page: BrowserPage):
    page = open_list(browser_page, "?q=nothing+like+this")
    expect(page.locator(".message-box")).to_contain_text("No session matches")

    page.click(".message-box button")
    expect(page.locator(ROW)).to_have_count(8)
    assert get_query(page) == {}


def test_without_sessions_the_page_says_what_to_do(
    browser: Browser, leslied: LesliedRunner
):
    assert leslied("sync").code == 0
    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = browser_page.open("/")

        expect(page.locator(".message-box")).to_contain_text("leslied sync")


def test_subagents_are_shown_below_their_session(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.get_by_role("button", name="1 subagent of").click()
    expect(page.locator(".subagent-row .session-title")).to_have_text(
        "Find all callers."
    )
    page.get_by_role("button", name="1 subagent of").click()
    expect(page.locator(".subagent-row")).to_have_count(0)


def test_keys_move_the_selection_and_open_a_session(browser_page: BrowserPage):
    page = open_list(browser_page)
    titles = page.locator(TITLE).all_text_contents()

    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    expect(page.locator(f"{ROW}.selected .session-title")).to_have_text(titles[1])
    page.keyboard.press("G")
    expect(page.locator(f"{ROW}.selected .session-title")).to_have_text(titles[-1])
    page.keyboard.press("g")
    expect(page.locator(f"{ROW}.selected .session-title")).to_have_text(titles[0])
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/*")


def test_a_slash_leads_to_the_filter_and_escape_back(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.keyboard.press("/")
    page.keyboard.type("task 4")
    expect(page.locator(ROW)).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(ROW)).to_have_count(8)
    page.keyboard.press("Escape")
    expect(page.locator(FILTER)).not_to_be_focused()


def test_a_star_is_kept(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.keyboard.press("j")
    with page.expect_response("**/star"):
        page.keyboard.press("s")
    page.reload()
    expect(page.locator(".star[aria-pressed=true]")).to_have_count(1)
    page.get_by_role("button", name="Starred").click()
    expect(page.locator(ROW)).to_have_count(1)


def test_tags_are_shown_and_selected(browser_page: BrowserPage, server: WebServer):
    (first, *_) = server.get("/sessions")["sessions"]
    server.change("PUT", f"/sessions/{first['id']}/tags", {"tags": "later"})
    page = open_list(browser_page)

    expect(page.locator(".badge.accent")).to_have_text("later")
    page.select_option("select[aria-label='Tag']", "later")
    expect(page.locator(ROW)).to_have_count(1)


def test_a_session_is_marked_as_unread(browser_page: BrowserPage):
    page = open_list(browser_page)

    page.keyboard.press("j")
    with page.expect_response("**/visited"):
        page.keyboard.press("u")
    expect(page.locator(f"{ROW}.unread")).to_have_count(1)
    page.get_by_role("button", name="Unread").click()
    expect(page.locator(ROW)).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_the_list_is_accessible(
    browser: Browser, server: WebServer, scheme: str, width: int
):
    viewport = {"width": width, "height": 844}
    with open_browser_page(
        browser, server, viewport=viewport, color_scheme=scheme
    ) as browser_page:
        page = open_list(browser_page)
        page.keyboard.press("j")
        page.get_by_role("button", name="1 subagent of").click()
        expect(page.locator(".subagent-row")).to_have_count(1)

        assert find_accessibility_problems(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert browser_page.problems == []


def test_hostile_titles_are_text(
    browser: Browser, leslied: LesliedRunner, claude: ClaudeHome
):
    for number, payload in enumerate(PAYLOADS, 1):
        write_session(claude, number, title=f"Say {payload}")
    assert leslied("sync", "--stop-all").code == 0
    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = open_list(browser_page)

        assert page.locator(".session-list :is(script, img, iframe)").count() == 0
        assert page.evaluate("typeof window.pwned") == "undefined"
        assert browser_page.problems == []
