"""The command palette, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.support.claude import SESSION
from tests.support.web import BrowserPage, find_accessibility_problems

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

BOX = "dialog [role=combobox]"
LAST = "dialog [role=option]:last-child"
ACTIVE = "[role=option][aria-selected=true]"


def open_palette(browser_page: BrowserPage, path: str = "/") -> Page:
    page = browser_page.open(path)
    page.keyboard.press("Control+k")
    expect(page.locator(BOX)).to_be_focused()
    return page


def test_the_palette_leads_to_a_page(browser_page: BrowserPage):
    page = open_palette(browser_page)

    page.keyboard.type("stats")
    expect(page.locator(ACTIVE)).to_have_text("Stats")
    page.keyboard.press("Enter")

    page.wait_for_url("**/stats")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("text", ["line loses", SESSION[:8]])
def test_the_palette_leads_to_a_session_by_words_of_its_title_or_its_id(
    browser_page: BrowserPage, text: str
):
    page = open_palette(browser_page, "/stats")
    session = page.locator("dialog [role=option]").filter(has_text="claude-code")
    expect(session.first).to_be_visible()

    page.keyboard.type(text)
    expect(page.locator(ACTIVE)).to_contain_text("claude-code")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**/s/{SESSION}")


def test_the_last_item_searches_everything(browser_page: BrowserPage):
    page = open_palette(browser_page)

    page.keyboard.type("parser")
    page.keyboard.press("ArrowUp")
    expect(page.locator(ACTIVE)).to_have_text("Search everything for “parser”")
    page.keyboard.press("Enter")

    page.wait_for_url("**/search?q=parser")


def test_the_input_refers_to_the_active_option(browser_page: BrowserPage):
    page = open_palette(browser_page)

    page.keyboard.press("ArrowDown")

    active = page.locator(ACTIVE).get_attribute("id")
    assert active == "palette-item-1"
    box = page.locator(BOX)
    expect(box).to_have_attribute("aria-activedescendant", active)


def test_the_palette_copies_the_command_that_resumes_a_session(
    browser_page: BrowserPage,
):
    browser_page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_palette(browser_page, f"/s/{SESSION}")

    page.keyboard.type("resume")
    page.keyboard.press("Enter")

    expect(page.get_by_text("Command copied")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert f"claude --resume {SESSION}" in text


def test_the_palette_closes_with_escape_and_with_its_shortcut(
    browser_page: BrowserPage,
):
    page = open_palette(browser_page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.keyboard.press("Control+k")

    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_palette_is_accessible(browser_page: BrowserPage):
    page = open_palette(browser_page)
    page.keyboard.type("s")
    expect(page.locator(LAST)).to_contain_text("Search everything")

    assert find_accessibility_problems(page) == []
