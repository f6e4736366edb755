"""The stats page, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.waiting import wait_until
from tests.support.web import (
    BrowserPage,
    WebServer,
    find_accessibility_problems,
    open_browser_page,
    serve_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

PICTURES = {
    "Cost over time": "rect.series-1",
    "Activity": "rect.heat-4",
    "Hours": "rect.heat-4",
    "Cost by project": "rect.series-1",
    "Cost by model": "rect.series-1",
    "Cost by agent": "rect.series-1",
    "Tools": "rect.failed",
    "Context windows": "rect.series-1",
}
PHONE = {"width": 390, "height": 800}


def open_stats(browser_page: BrowserPage, query: str = "") -> Page:
    """Open the page, and wait until every panel has its numbers."""
    page = browser_page.open(f"/stats{query}")
    page.wait_for_selector(".stats-content > *")
    page.wait_for_selector(".loading", state="detached")
    return page


def get_panel(page: Page, title: str):
    return page.get_by_role("region", name=title, exact=True)


def test_key_figures_are_those_of_the_api(browser_page: BrowserPage):
    totals = browser_page.server.get("/stats?by=day")["totals"]
    page = open_stats(browser_page)

    values = page.locator(".key-figures .value").all_inner_texts()
    assert values[2:4] == [str(totals["messages"]), str(totals["sessions"])]
    assert values[0].startswith(("$", "<$"))


def test_every_picture_is_drawn_with_a_summary(browser_page: BrowserPage):
    page = open_stats(browser_page)

    for title, mark in PICTURES.items():
        picture = get_panel(page, title).locator("svg[role=img]")
        expect(picture).to_have_attribute("aria-label", re.compile(r"\w+ .*\d"))
        expect(picture.locator(mark).first).to_be_visible()


def test_every_picture_has_a_table_of_its_numbers(browser_page: BrowserPage):
    page = open_stats(browser_page)

    for title in PICTURES:
        panel = get_panel(page, title)
        panel.get_by_text("Show the numbers").click()
        expect(panel.locator("details tbody tr").first).to_be_visible()


def test_every_picture_has_a_csv_file(browser_page: BrowserPage):
    page = open_stats(browser_page)

    for title in PICTURES:
        with page.expect_download() as download:
            get_panel(page, title).get_by_role("link", name="as CSV").click()
        assert download.value.suggested_filename.endswith(".csv")
        assert download.value.path().read_text().count("\n") > 1


def test_keys_move_between_the_values_of_a_picture(browser_page: BrowserPage):
    page = open_stats(browser_page)
    panel = get_panel(page, "Hours")

    panel.locator("svg").focus()
    page.keyboard.press("ArrowRight")
    expect(panel.locator(".chart-values")).to_contain_text("Mon, 0:00")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")

    expect(panel.locator(".chart-values")).to_contain_text("Tue, 1:00")
    expect(panel.get_by_role("status")).to_contain_text("Tue, 1:00 to 2:00: messages")


def test_the_pointer_shows_the_values_of_a_bar(browser_page: BrowserPage):
    panel = get_panel(open_stats(browser_page), "Cost over time")

    panel.locator("[data-mark]").last.hover()

    expect(panel.locator(".chart-values")).to_contain_text("claude-opus-5-5")


def test_a_day_leads_to_its_sessions(browser_page: BrowserPage):
    page = open_stats(browser_page)

    get_panel(page, "Activity").locator("rect.heat-4").click()

    page.wait_for_url(re.compile(r"/\?since=(\d{4}-\d\d-\d\d)&until=\1$"))
    expect(page.locator("main a[href^='/s/']").first).to_be_visible()


def test_a_link_to_the_list_can_select_a_range_of_days(browser_page: BrowserPage):
    page = browser_page.open("/?since=2020-01-01&until=2020-01-31")

    expect(page.get_by_role("combobox", name="Time")).to_contain_text(
        "2020-01-01 to 2020-01-31"
    )
    expect(page.locator("main a[href^='/s/']")).to_have_count(0)


def test_a_filter_changes_the_address_and_offers_a_reset(browser_page: BrowserPage):
    page = open_stats(browser_page)

    page.get_by_role("combobox", name="Agent").select_option("claude-code")
    page.wait_for_url("**/stats?agent=claude-code")
    page.get_by_role("combobox", name="Time").select_option("Last 7 days")
    page.wait_for_url("**/stats?since=7d&agent=claude-code")

    expect(page.get_by_role("link", name="Reset")).to_be_visible()


def test_days_can_be_chosen(browser_page: BrowserPage):
    page = open_stats(browser_page)

    page.get_by_role("combobox", name="Time").select_option("Between days")
    page.get_by_label("From").fill("2026-01-01")
    page.wait_for_url("**/stats?since=2026-01-01")
    page.get_by_label("To", exact=True).fill("2026-12-31")
    page.wait_for_url("**/stats?since=2026-01-01&until=2026-12-31")

    expect(page.get_by_label("From")).to_have_value("2026-01-01")


def test_the_address_sets_the_filters(browser_page: BrowserPage):
    page = open_stats(browser_page, "?model=opus&measure=tokens&split=agent")

    expect(page.get_by_role("combobox", name="Model")).to_have_value("opus")
    expect(page.get_by_role("button", name="tokens").first).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(get_panel(page, "Tokens over time").locator(".legend")).to_have_text(
        "claude-code"
    )


def test_a_switch_keeps_the_focus(browser_page: BrowserPage):
    page = open_stats(browser_page)

    get_panel(page, "Cost over time").get_by_role("button", name="messages").press(
        "Enter"
    )
    panel = get_panel(page, "Messages over time")
    expect(panel.get_by_role("button", name="messages")).to_be_focused()
    page.wait_for_url("**/stats?measure=messages")


def test_a_key_changes_what_is_measured(browser_page: BrowserPage):
    page = open_stats(browser_page)

    page.keyboard.press("m")

    expect(get_panel(page, "Tokens over time")).to_be_visible()


def test_top_sessions_lead_to_the_session(browser_page: BrowserPage):
    page = open_stats(browser_page)

    get_panel(page, "Top sessions").locator("tbody a").first.click()

    page.wait_for_url("**/s/*")


def test_a_range_without_messages_is_explained(browser_page: BrowserPage):
    page = open_stats(browser_page, "?until=2020-01-01")

    expect(page.get_by_role("heading", name="No message matches")).to_be_visible()
    page.get_by_role("link", name="Show all messages").click()
    expect(get_panel(page, "Cost over time")).to_be_visible()


def test_a_wrong_address_is_explained(browser: Browser, server: WebServer):
    # The browser reports the answer 400 on its console.
    with open_browser_page(browser, server) as browser_page:
        page = browser_page.open("/stats?since=soon")

        expect(page.get_by_role("alert")).to_contain_text("is not a date or time")


def test_an_empty_store_says_what_to_do(leslied: LesliedRunner, browser: Browser):
    assert leslied("sync").code == 0
    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = browser_page.open("/stats")

        expect(page.get_by_text("leslied sync")).to_be_visible()
        assert browser_page.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE])
def test_the_page_is_accessible_and_fits(
    browser: Browser, server: WebServer, scheme: str, viewport: dict | None
):
    options = {
        "color_scheme": scheme,
        "viewport": viewport or {"width": 1440, "height": 900},
    }
    with open_browser_page(browser, server, **options) as browser_page:
        page = open_stats(browser_page)
        for summary in page.locator("summary").all():
            summary.click()

        assert find_accessibility_problems(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert browser_page.problems == []


def test_new_sessions_are_counted_without_a_reload(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    browser_page.page.clock.install()
    page = open_stats(browser_page)
    sessions = page.locator(".key-figures dt:text('Sessions') + .value")
    expect(sessions).to_have_text("1")
    builder = ClaudeLogBuilder("00000000-0000-4000-8000-00000000aaaa")
    claude.write(
        builder.prompt("Hello"),
        builder.answer("Hi."),
        name="-home-dev-app/another.jsonl",
    )
    assert leslied("sync").code == 0

    def is_counted() -> bool:
        page.clock.fast_forward(15_000)
        return sessions.inner_text() == "2"

    wait_until(is_counted)


def test_names_from_a_log_are_never_markup(
    leslied: LesliedRunner, claude: ClaudeHome, browser: Browser
):
    markup = "<img src=x onerror=alert(1)>"
    builder = ClaudeLogBuilder(cwd=f"/home/dev/{markup}")
    claude.write(
        builder.prompt(markup),
        builder.call(markup, {}, "c1", model=markup),
        builder.result("c1", "done"),
        builder.answer("Done.", model=markup),
    )
    assert leslied("sync", "--stop-all").code == 0
    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = open_stats(browser_page, "?split=project&measure=tokens")
        for summary in page.locator("summary").all():
            summary.click()

        assert page.locator("main img").count() == 0
        expect(get_panel(page, "Tools").locator("tbody th")).to_have_text(markup)
        assert browser_page.problems == []
