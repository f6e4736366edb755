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


def open_reader(shown: BrowserPage) -> Page:
    page = shown.open(SAMPLE_PAGE)
    page.wait_for_selector(".reader:not([aria-busy])")
    return page


def open_list(shown: BrowserPage, query: str = "") -> Page:
    page = shown.open(f"/{query}")
    expect(page.locator(".session-count")).not_to_be_empty()
    return page


def open_other_tab(shown: BrowserPage, path: str, selector: str) -> Page:
    page = shown.page.context.new_page()
    page.goto(shown.server.base + path)
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


def get_marks(shown: BrowserPage, session_id: str = SESSION) -> tuple[list[str], str]:
    marks = shown.server.get(f"/sessions/{session_id}/marks")
    return marks["tags"], marks["note"]


def test_tags_and_note_are_edited_in_the_reader(shown: BrowserPage):
    page = open_reader(shown)
    edit(page, "Bug, #later", "Read the second answer.\nThen decide.")

    expect(page.locator(".reader-tags .chip")).to_have_text(["bug", "later"])
    expect(page.locator(".reader-note")).to_have_text(
        "Read the second answer.\nThen decide."
    )
    assert get_marks(shown) == (
        ["bug", "later"],
        "Read the second answer.\nThen decide.",
    )


def test_tags_and_note_are_edited_in_the_list(shown: BrowserPage):
    page = open_list(shown)
    page.keyboard.press("j")
    edit(page, "bug", "look again")

    row = page.locator(ROW).first
    expect(row.locator(".session-tag")).to_have_text("bug")
    expect(row.locator(".session-note")).to_have_text("look again")


def test_the_button_of_a_row_opens_the_editor(shown: BrowserPage):
    page = open_list(shown)
    page.locator(ROW).first.hover()
    page.locator(f"{ROW} .edit-marks").first.click()

    expect(page.locator(f"{EDITOR} .editor-session")).not_to_be_empty()


def test_a_tag_of_a_row_selects_its_sessions(shown: BrowserPage):
    shown.server.change("PUT", f"/sessions/{SESSION}/tags", {"tags": "bug"})
    page = open_list(shown)
    page.click(".session-tag")

    expect(page.locator(ROW)).to_have_count(1)
    assert page.url.endswith("/?tag=bug")


def test_a_tag_is_removed_in_the_editor(shown: BrowserPage):
    shown.server.change("PUT", f"/sessions/{SESSION}/tags", {"tags": "bug later"})
    page = open_reader(shown)
    page.get_by_role("button", name="Tags, note").click()
    page.get_by_role("button", name="Remove the tag bug").click()
    page.get_by_role("button", name="Save").click()

    expect(page.locator(".reader-tags .chip")).to_have_text(["later"])


def test_a_deleted_note_comes_back_with_undo(shown: BrowserPage):
    shown.server.change("PUT", f"/sessions/{SESSION}/note", {"note": "keep me"})
    page = open_reader(shown)
    edit(page, "", "")
    expect(page.locator(TOAST)).to_contain_text("Note deleted")

    page.locator(TOAST).get_by_role("button", name="Undo").click()
    expect(page.locator(".reader-note")).to_have_text("keep me")


def test_a_key_takes_back_the_last_edit(shown: BrowserPage):
    page = open_reader(shown)
    edit(page, "bug", "a note")
    expect(page.locator(".reader-marks")).to_be_visible()
    page.keyboard.press("z")

    expect(page.locator(".reader-marks")).to_be_hidden()
    assert get_marks(shown) == ([], None)


def test_other_tabs_show_the_change(shown: BrowserPage):
    page = open_reader(shown)
    listed = open_other_tab(shown, "/", ROW)
    read = open_other_tab(shown, SAMPLE_PAGE, ".reader:not([aria-busy])")
    edit(page, "bug", "a note")

    expect(listed.locator(".session-tag")).to_have_text("bug")
    expect(read.locator(".reader-note")).to_have_text("a note")


def test_an_open_editor_keeps_what_was_typed_and_takes_what_others_changed(
    shown: BrowserPage, leslied: LesliedRunner
):
    page = open_reader(shown)
    page.keyboard.press("e")
    page.wait_for_selector(EDITOR)
    page.fill(f"{EDITOR} textarea", "mine")
    assert leslied("mark", SESSION, "--tag", "other", "--note", "theirs").code == 0

    expect(page.locator(f"{EDITOR} .chip")).to_have_text("other")
    expect(page.locator(f"{EDITOR} textarea")).to_have_value("mine")
    expect(page.locator(f"{EDITOR} [role=alert]")).to_contain_text("changed elsewhere")


def test_escape_warns_before_it_discards_a_note(shown: BrowserPage):
    page = open_reader(shown)
    page.keyboard.press("e")
    page.fill(f"{EDITOR} textarea", "a long note")
    page.keyboard.press("Escape")
    expect(page.locator(f"{EDITOR} [role=alert]")).to_contain_text("Not saved yet")
    page.keyboard.press("Escape")

    expect(page.locator(EDITOR)).to_have_count(0)
    assert get_marks(shown) == ([], None)


def test_a_note_with_markup_is_shown_as_text(shown: BrowserPage):
    note = "<img src=x onerror=alert(1)>"
    shown.server.change("PUT", f"/sessions/{SESSION}/note", {"note": note})
    page = open_reader(shown)

    expect(page.locator(".reader-note")).to_have_text(note)
    assert page.locator(".reader-note img").count() == 0


def test_the_palette_opens_the_editor(shown: BrowserPage):
    page = open_reader(shown)
    page.keyboard.press("Control+k")
    page.keyboard.type("edit tags")
    page.keyboard.press("Enter")

    expect(page.locator(EDITOR)).to_be_visible()


def test_a_star_is_set_in_the_reader(shown: BrowserPage):
    page = open_reader(shown)
    page.keyboard.press("s")

    expect(page.locator(".reader-header .star")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert shown.server.get(f"/sessions/{SESSION}/marks")["starred"]


def test_opening_a_session_makes_it_read(shown: BrowserPage):
    shown.server.change("PUT", f"/sessions/{SESSION}/visited", {"visited": False})
    open_reader(shown)

    wait_until(lambda: not shown.server.get(f"/sessions/{SESSION}/marks")["unread"])


def test_a_session_that_goes_on_after_the_visit_is_unread(
    shown: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    open_reader(shown)
    wait_until((claude.home / ".local/share/leslied/annotations.db").exists)
    page = open_list(shown)
    write_session(claude, 7, hours_ago=-1)
    assert leslied("sync").code == 0

    expect(page.locator(f"{ROW}.unread")).to_have_count(1)


def test_the_editor_is_accessible(shown: BrowserPage):
    shown.server.change("PUT", f"/sessions/{SESSION}/tags", {"tags": "bug later"})
    page = open_reader(shown)
    assert find_accessibility_problems(page) == []
    page.keyboard.press("e")
    page.wait_for_selector(EDITOR)

    assert find_accessibility_problems(page) == []
