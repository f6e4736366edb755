"""Stars, tags and notes on the page, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.claude import SESSION, ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session
from tests.support.session_lists import write_session
from tests.support.waiting import wait_until
from tests.support.web import (
    BrowserPage,
    WebServer,
    find_accessibility_problems,
    serve_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

ROW = ".session-row"
EDITOR = "dialog.marks-editor"
TOAST = ".toast"
SAMPLE_PAGE = f"/s/{SESSION}"


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home with the sample session and two others."""
    write_sample_session(claude)
    for number in (1, 2):
        write_session(claude, number, hours_ago=number)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


def open_reader(browser_page: BrowserPage) -> Page:
    page = browser_page.open(SAMPLE_PAGE)
    page.wait_for_selector(".reader:not([aria-busy])")
    return page


def open_list(browser_page: BrowserPage, query: str = "") -> Page:
    page = browser_page.open(f"/{query}")
    expect(page.locator(".session-count")).not_to_be_empty()
    return page


def open_other_tab(browser_page: BrowserPage, path: str, selector: str) -> Page:
    page = browser_page.page.context.new_page()
    page.goto(browser_page.server.base + path)
    page.wait_for_selector(selector)
    return page


def edit(page: Page, tags: str, note: str) -> None:
    """Open the editor with its key, and save these tags and this note."""
    page.keyboard.press("e")
    page.wait_for_selector(EDITOR)
    page.keyboard.type(tags)
    page.fill(f"{EDITOR} textarea", note)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(EDITOR, state="detached")


def get_marks(
    browser_page: BrowserPage, session_id: str = SESSION
) -> tuple[list[str], str]:
    marks = browser_page.server.get(f"/sessions/{session_id}/marks")
    return marks["tags"], marks["note"]


def test_tags_and_note_are_edited_in_the_reader(browser_page: BrowserPage):
    page = open_reader(browser_page)
    edit(page, "Bug, #later", "Read the second answer.\nThen decide.")

    expect(page.locator(".reader-tags .chip")).to_have_text(["bug", "later"])
    expect(page.locator(".reader-note")).to_have_text(
        "Read the second answer.\nThen decide."
    )
    assert get_marks(browser_page) == (
        ["bug", "later"],
        "Read the second answer.\nThen decide.",
    )


def test_tags_and_note_are_edited_in_the_list(browser_page: BrowserPage):
    page = open_list(browser_page)
    page.keyboard.press("j")
    edit(page, "bug", "look again")

    row = page.locator(ROW).first
    expect(row.locator(".session-tag")).to_have_text("bug")
    expect(row.locator(".session-note")).to_have_text("look again")


def test_the_button_of_a_row_opens_the_editor(browser_page: BrowserPage):
    page = open_list(browser_page)
    page.locator(ROW).first.hover()
    page.locator(f"{ROW} .edit-marks").first.click()

    expect(page.locator(f"{EDITOR} .editor-session")).not_to_be_empty()


def test_a_tag_of_a_row_selects_its_sessions(browser_page: BrowserPage):
    browser_page.server.change("PUT", f"/sessions/{SESSION}/tags", {"tags": "bug"})
    page = open_list(browser_page)
    page.click(".session-tag")

    expect(page.locator(ROW)).to_have_count(1)
    assert page.url.endswith("/?tag=bug")


def test_a_tag_is_removed_in_the_editor(browser_page: BrowserPage):
    browser_page.server.change(
        "PUT", f"/sessions/{SESSION}/tags", {"tags": "bug later"}
    )
    page = open_reader(browser_page)
    page.get_by_role("button", name="Tags, note").click()
    page.get_by_role("button", name="Remove the tag bug").click()
    page.get_by_role("button", name="Save").click()

    expect(page.locator(".reader-tags .chip")).to_have_text(["later"])


def test_a_deleted_note_comes_back_with_undo(browser_page: BrowserPage):
    browser_page.server.change("PUT", f"/sessions/{SESSION}/note", {"note": "keep me"})
    page = open_reader(browser_page)
    edit(page, "", "")
    expect(page.locator(TOAST)).to_contain_text("Note deleted")

    page.locator(TOAST).get_by_role("button", name="Undo").click()
    expect(page.locator(".reader-note")).to_have_text("keep me")


def test_a_key_takes_back_the_last_edit(browser_page: BrowserPage):
    page = open_reader(browser_page)
    edit(page, "bug", "a note")
    expect(page.locator(".reader-marks")).to_be_visible()
    page.keyboard.press("z")

    expect(page.locator(".reader-marks")).to_be_hidden()
    assert get_marks(browser_page) == ([], None)


def test_other_tabs_show_the_change(browser_page: BrowserPage):
    page = open_reader(browser_page)
    list_tab = open_other_tab(browser_page, "/", ROW)
    reader_tab = open_other_tab(browser_page, SAMPLE_PAGE, ".reader:not([aria-busy])")
    edit(page, "bug", "a note")

    expect(list_tab.locator(".session-tag")).to_have_text("bug")
    expect(reader_tab.locator(".reader-note")).to_have_text("a note")


def test_an_open_editor_keeps_what_was_typed_and_takes_what_others_changed(
    browser_page: BrowserPage, leslied: LesliedRunner
):
    page = open_reader(browser_page)
    page.keyboard.press("e")
    page.wait_for_selector(EDITOR)
    page.fill(f"{EDITOR} textarea", "mine")
    assert leslied("mark", SESSION, "--tag", "other", "--note", "theirs").code == 0

    expect(page.locator(f"{EDITOR} .chip")).to_have_text("other")
    expect(page.locator(f"{EDITOR} textarea")).to_have_value("mine")
    expect(page.locator(f"{EDITOR} [role=alert]")).to_contain_text("changed elsewhere")


def test_escape_warns_before_it_discards_a_note(browser_page: BrowserPage):
    page = open_reader(browser_page)
    page.keyboard.press("e")
    page.fill(f"{EDITOR} textarea", "a long note")
    page.keyboard.press("Escape")
    expect(page.locator(f"{EDITOR} [role=alert]")).to_contain_text("Not saved yet")
    page.keyboard.press("Escape")

    expect(page.locator(EDITOR)).to_have_count(0)
    assert get_marks(browser_page) == ([], None)


def test_a_note_with_markup_is_shown_as_text(browser_page: BrowserPage):
    note = "<img src=x onerror=alert(1)>"
    browser_page.server.change("PUT", f"/sessions/{SESSION}/note", {"note": note})
    page = open_reader(browser_page)

    expect(page.locator(".reader-note")).to_have_text(note)
    assert page.locator(".reader-note img").count() == 0


def test_the_palette_opens_the_editor(browser_page: BrowserPage):
    page = open_reader(browser_page)
    page.keyboard.press("Control+k")
    page.keyboard.type("edit tags")
    page.keyboard.press("Enter")

    expect(page.locator(EDITOR)).to_be_visible()


def test_a_star_is_set_in_the_reader(browser_page: BrowserPage):
    page = open_reader(browser_page)
    page.keyboard.press("s")

    expect(page.locator(".reader-header .star")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert browser_page.server.get(f"/sessions/{SESSION}/marks")["starred"]


def test_opening_a_session_makes_it_read(browser_page: BrowserPage):
    browser_page.server.change(
        "PUT", f"/sessions/{SESSION}/visited", {"visited": False}
    )
    open_reader(browser_page)

    wait_until(
        lambda: not browser_page.server.get(f"/sessions/{SESSION}/marks")["unread"]
    )


def test_a_session_that_starts_after_the_first_visit_is_unread(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    open_reader(browser_page)
    wait_until((claude.home / ".local/share/leslied/annotations.db").exists)
    page = open_list(browser_page)
    write_session(claude, 7, hours_ago=-1)
    assert leslied("sync").code == 0

    expect(page.locator(f"{ROW}.unread")).to_have_count(1)


def test_the_editor_is_accessible(browser_page: BrowserPage):
    browser_page.server.change(
        "PUT", f"/sessions/{SESSION}/tags", {"tags": "bug later"}
    )
    page = open_reader(browser_page)
    assert find_accessibility_problems(page) == []
    page.keyboard.press("e")
    page.wait_for_selector(EDITOR)

    assert find_accessibility_problems(page) == []
