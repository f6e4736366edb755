"""Search as you type, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.html_payloads import PAYLOADS
from tests.support.web import (
    BrowserPage,
    WebServer,
    find_accessibility_problems,
    open_browser_page,
    serve_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

HITS = "a.hit"
BOX = "input[type=search]"


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home with two sessions; one of them is hostile."""
    builder = ClaudeLogBuilder("aaaa1111")
    claude.write(
        builder.prompt("Find the needle 🎉 in the haystack"),
        builder.call("Bash", {"command": "grep needle hay"}, "c1"),
        builder.result("c1", "needle: found"),
        *[builder.answer(f"A needle, number {number}") for number in range(5)],
        name="-home-dev-app/aaaa1111.jsonl",
    )
    hostile = ClaudeLogBuilder("bbbb2222")
    claude.write(
        hostile.prompt("A hostile needle"),
        *[hostile.answer(f"payload {payload}") for payload in PAYLOADS],
        name="-home-dev-other/bbbb2222.jsonl",
    )
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


def search(browser_page: BrowserPage, text: str) -> Page:
    """Type a query, and wait for its results."""
    page = browser_page.open("/search")
    with page.expect_response(
        lambda response: f"q={quote_plus(text)}&" in response.url
    ):
        page.locator(BOX).press_sequentially(text)
    expect(page.locator(".search-results[aria-busy]")).to_have_count(0)
    expect(page.locator(HITS).first).to_be_visible()
    return page


def test_results_appear_while_the_user_types(browser_page: BrowserPage):
    page = search(browser_page, "need")

    expect(page.locator(".group")).to_have_count(2)
    expect(page.locator("mark").first).to_have_text("need")
    expect(page.locator(".search-summary")).to_have_text("9 hits in 2 sessions")
    assert page.url.endswith("/search?q=need")


def test_a_session_shows_three_hits_and_a_way_to_the_others(browser_page: BrowserPage):
    page = search(browser_page, "needle")
    group = page.locator(".group", has_text="haystack")
    expect(group.locator(HITS)).to_have_count(3)

    group.get_by_text("5 more in this session").click()

    expect(page.locator(HITS)).to_have_count(8)
    expect(page.locator(BOX)).to_have_value("needle session:aaaa1111")


def test_a_mark_after_an_emoji_is_in_the_right_place(browser_page: BrowserPage):
    page = search(browser_page, "haystack")

    expect(page.locator("mark").first).to_have_text("haystack")


def test_a_facet_narrows_the_search_and_widens_it_again(browser_page: BrowserPage):
    page = search(browser_page, "needle")

    page.get_by_role("link", name="Bash 2").click()
    expect(page.locator(BOX)).to_have_value("needle tool:Bash")
    expect(page.locator(HITS)).to_have_count(2)
    page.get_by_role("link", name="Remove tool:Bash").click()

    expect(page.locator(BOX)).to_have_value("needle")
    expect(page.locator(".group")).to_have_count(2)


def test_the_history_has_the_queries_of_facets(browser_page: BrowserPage):
    page = search(browser_page, "needle")
    page.get_by_role("link", name="Bash 2").click()
    expect(page.locator(HITS)).to_have_count(2)

    page.go_back()

    expect(page.locator(BOX)).to_have_value("needle")
    expect(page.locator(".group")).to_have_count(2)


def test_the_keyboard_goes_through_the_results(browser_page: BrowserPage):
    page = search(browser_page, "needle")

    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(page.locator(HITS).nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator(HITS).nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(BOX)).to_be_focused()


def test_enter_opens_the_entry(browser_page: BrowserPage):
    page = search(browser_page, "haystack")

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_url("**/s/aaaa1111#entry-*")


def test_an_invalid_filter_is_explained_and_the_results_stay(browser_page: BrowserPage):
    page = search(browser_page, "needle role:user")
    page.locator(BOX).press("Backspace")

    expect(page.locator(".search-notice")).to_contain_text("role:use is not a filter")
    expect(page.locator(HITS).first).to_be_visible()
    browser_page.problems.clear()  # The browser reports the status 400 as an error.


def test_the_address_sets_the_query_and_the_order(browser_page: BrowserPage):
    page = browser_page.open("/search?q=eedl&sort=substring")

    expect(page.locator(".group")).to_have_count(2)
    any_characters = page.get_by_role("button", name="Any characters", pressed=True)
    expect(any_characters).to_be_visible()
    # The other orders search for words, and "eedl" is only a part of one.
    page.get_by_role("button", name="Newest").click()

    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()


def test_a_note_leads_to_a_search_for_any_characters(browser_page: BrowserPage):
    page = browser_page.open("/search?q=%3A%3A")
    notice = page.locator(".search-notice")
    expect(notice).not_to_contain_text("--substring")
    notice.get_by_role("button", name="Search for any characters").click()

    page.wait_for_url("**sort=substring**")


def test_examples_are_offered_before_the_first_search(browser_page: BrowserPage):
    page = browser_page.open("/search")

    page.get_by_role("link", name="is:error tool:Bash").click()

    expect(page.locator(BOX)).to_have_value("is:error tool:Bash")


@pytest.mark.threat("R2")
def test_hostile_texts_are_shown_as_text(browser_page: BrowserPage):
    page = search(browser_page, "payload session:bbbb2222")

    expect(page.locator(HITS)).to_have_count(len(PAYLOADS))
    tags = page.evaluate(
        "[...document.querySelectorAll('.hit-text *')].map((each) => each.tagName)"
    )
    assert set(tags) == {"MARK"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/search", "/search?q=needle", "/search?q=zzzz"])
def test_the_page_is_accessible(
    browser: Browser, server: WebServer, scheme: str, path: str
):
    with open_browser_page(browser, server, color_scheme=scheme) as browser_page:
        page = browser_page.open(path)
        page.wait_for_selector(".group, .search-help, .message-box")

        assert find_accessibility_problems(page) == []
        assert browser_page.problems == []


def test_nothing_is_wider_than_a_phone(browser: Browser, server: WebServer):
    size = {"width": 390, "height": 800}
    with open_browser_page(browser, server, viewport=size) as browser_page:
        page = search(browser_page, "needle")

        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_phone_shows_the_filters_on_request(browser: Browser, server: WebServer):
    size = {"width": 390, "height": 800}
    with open_browser_page(browser, server, viewport=size) as browser_page:
        page = search(browser_page, "needle")

        page.get_by_text("Narrow down").click()
        expect(page.get_by_role("link", name="Bash 2")).to_be_visible()
