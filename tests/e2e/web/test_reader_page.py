"""The page of one session, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.claude import SESSION, ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session
from tests.support.reader_sessions import (
    HOSTILE,
    LONG,
    RICH,
    SECRET,
    append_answer,
    write_hostile_session,
    write_long_session,
    write_rich_session,
    write_unit_with_late_result,
)
from tests.support.session_lists import make_session_id, serve_index, write_session
from tests.support.web import (
    BrowserPage,
    WebServer,
    find_accessibility_problems,
    open_browser_page,
    serve_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]

SAMPLE_PAGE = f"/s/{SESSION}"
RICH_PAGE = f"/s/{RICH}"


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home with the sample and the rich session."""
    write_sample_session(claude)
    write_rich_session(claude)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


@pytest.fixture
def browser_page(browser: Browser, server: WebServer) -> Iterator[BrowserPage]:
    """A page that may use the clipboard; nothing may go wrong in it."""
    permissions = ["clipboard-read", "clipboard-write"]
    with open_browser_page(browser, server, permissions=permissions) as browser_page:
        yield browser_page
        assert browser_page.problems == []


def open_session(browser_page: BrowserPage, path: str) -> Page:
    """Open a session and wait until all of it is loaded."""
    page = browser_page.open(path)
    page.wait_for_selector(".reader:not([aria-busy]) .message")
    page.wait_for_function("() => !document.querySelector('.message-page.unloaded')")
    return page


def read_clipboard(page: Page) -> str:
    page.wait_for_selector(".toast")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_unit_is_a_section_with_its_prompt_and_answers(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    assert page.locator(".unit").count() == 2
    assert "loses the last line" in page.inner_text("#unit-1 .message.user")
    assert page.inner_text("#unit-1 .prose h2") == "What was wrong"
    assert page.inner_text("#unit-2 .message.assistant .prose") == "Gladly."


def test_code_is_highlighted_on_the_server(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    assert page.locator(".prose .tok-keyword").first.inner_text() == "def"


def test_calls_are_folded_to_a_line_with_their_outcome(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    failed = page.locator(".call.failed summary")

    assert page.locator(".call[open]").count() == 0
    assert "pytest -q" in failed.inner_text()
    assert failed.locator(".mark").get_attribute("aria-label") == "failed"


def test_an_edit_is_unfolded_as_a_diff(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    page.click(".call:has(b:text-is('Edit')) summary")

    assert "return lines" in page.inner_text(".diff-line.added >> nth=1")
    link = page.get_attribute(".edit a:text-is('Open in editor')", "href")
    assert link == "vscode://file/home/dev/app/src/parser.py"


def test_all_calls_are_unfolded_by_one_key(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    page.keyboard.press("O")
    page.wait_for_selector(".call[open] .call-body")

    assert page.locator(".call:not([open])").count() == 0


def test_the_keyboard_moves_by_message_and_by_prompt(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.wait_for_selector(".message.current")
    page.keyboard.press("J")
    page.wait_for_function("() => document.activeElement.id === 'unit-2'")

    assert second
    assert "message" in (second.get_attribute("class") or "")
    assert page.url.endswith("#unit-2")


def test_one_key_unfolds_the_calls_of_the_current_message(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    page.evaluate(
        "document.querySelector('.message.calls-only').classList.add('current')"
    )

    page.keyboard.press("o")

    assert page.locator(".call[open]").count() == 1


def test_a_link_in_the_rail_leads_to_its_prompt_and_becomes_current(
    browser_page: BrowserPage,
):
    page = open_session(browser_page, RICH_PAGE)

    page.click(".rail a[data-unit='2']")

    page.wait_for_selector(".rail a[data-unit='2'][aria-current]")


def test_the_rail_can_be_hidden_and_stays_hidden(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    page.keyboard.press("p")
    page.wait_for_selector(".rail", state="hidden")
    open_session(browser_page, SAMPLE_PAGE)

    assert not page.is_visible(".rail")


def test_thinking_can_be_hidden_and_stays_hidden(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    assert page.is_visible(".thinking")

    page.keyboard.press("T")
    page.wait_for_selector(".thinking", state="hidden")
    open_session(browser_page, SAMPLE_PAGE)

    assert not page.is_visible(".thinking")


def test_subagents_open_at_any_depth(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)

    page.click("[data-subagent='aaa1'] > summary")
    page.click("[data-subagent='bbb2'] > summary")

    page.wait_for_selector("[data-subagent='bbb2'] >> text=Answer of bbb2.")


def test_parallel_calls_are_grouped(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)

    group = page.locator(".parallel")
    assert group.get_attribute("aria-label") == "2 parallel calls"
    assert group.locator(".call").count() == 2


def test_images_are_shown(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)

    for box in page.locator(".images").all():
        box.scroll_into_view_if_needed()
        page.wait_for_function(
            "image => image.naturalWidth === 1",
            arg=box.locator("img").element_handle(),
        )
    assert page.locator(".images img").count() == 2


def test_an_image_that_is_gone_says_why(browser_page: BrowserPage, claude: ClaudeHome):
    claude.log(f"-home-dev-app/{RICH}.jsonl").unlink()
    shutil.rmtree(claude.home / ".local/share/leslied/archive")
    page = open_session(browser_page, RICH_PAGE)

    expect(page.locator(".images .image-place").first).to_have_text(
        "The original line is gone or cannot be shown."
    )


def test_a_compaction_is_visible(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)

    assert page.inner_text(".event.compacted") == "conversation compacted"
    assert "compacted" in page.inner_text(".rail a[data-unit='1']")


def test_a_long_prompt_is_clamped_until_asked_for(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)
    prompt = page.locator("#unit-2 .prompt-text")
    height = prompt.bounding_box()

    page.click("text=Show all 200 lines")

    whole = prompt.bounding_box()
    assert height
    assert whole
    assert whole["height"] > 5 * height["height"]


def test_a_long_output_is_loaded_on_request(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)
    page.click(".call:has-text('b.py') summary")

    page.click(".call-body .show-all")

    page.wait_for_function(
        "() => document.querySelector('.call[open] .output')"
        ".textContent.split('\\n').length === 500"
    )


def test_the_link_to_an_entry_highlights_it(
    browser_page: BrowserPage, server: WebServer
):
    messages = server.get(f"/sessions/{RICH}/messages?subagent=bbb2")["messages"]
    entry = messages[-1]["id"]

    page = open_session(browser_page, f"{RICH_PAGE}#entry-{entry}")

    target = page.wait_for_selector(".message.target")
    assert target
    assert target.get_attribute("id") == f"entry-{entry}"
    assert "Answer of bbb2" in target.inner_text()


def test_the_link_of_a_message_can_be_copied(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    message = page.locator("#unit-2 .message.assistant")
    message.hover()
    message.locator(".more").click()

    page.click("role=menuitem[name='Copy link']")

    assert read_clipboard(page).endswith(f"{SAMPLE_PAGE}#{message.get_attribute('id')}")


def test_escape_closes_a_menu_and_not_the_session(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    page.click("#unit-2 .unit-header .more")
    page.wait_for_selector(".menu")

    page.keyboard.press("Escape")

    page.wait_for_selector(".menu", state="detached")
    assert page.url.startswith(browser_page.server.base + SAMPLE_PAGE)


def test_the_resume_command_can_be_copied(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    page.keyboard.press("c")

    assert f"claude --resume {SESSION}" in read_clipboard(page)


@pytest.mark.parametrize("name", ["Copy as Markdown", "Copy as Leslie text"])
def test_a_unit_can_be_copied_as_text(browser_page: BrowserPage, name: str):
    page = open_session(browser_page, SAMPLE_PAGE)
    page.click("#unit-2 .unit-header .more")

    page.click(f"role=menuitem[name='{name}']")

    text = read_clipboard(page)
    assert "Gladly." in text
    assert "What was wrong" not in text


def test_the_raw_json_of_a_message_is_shown(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    page.keyboard.press("j")

    page.keyboard.press("r")
    page.wait_for_selector("dialog.raw")

    assert '"entry_id"' in page.inner_text("dialog.raw")
    assert '"sessionId"' in page.inner_text("dialog.raw")


@pytest.mark.threat("S1")
def test_a_secret_is_shown_only_after_a_click(browser_page: BrowserPage):
    page = open_session(browser_page, RICH_PAGE)
    assert SECRET not in page.content()
    message = page.locator(".message:has-text('The token is')")
    message.hover()
    message.locator(".more").click()

    page.click("role=menuitem[name='Reveal secrets']")
    page.wait_for_selector(".message.revealed")

    assert SECRET in page.inner_text(".message.revealed")
    open_session(browser_page, RICH_PAGE)
    assert SECRET not in page.content()


def test_brackets_open_the_neighbours_in_the_list(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)
    ids = [each["id"] for each in browser_page.server.get("/sessions")["sessions"]]
    key = "]" if ids.index(SESSION) == 0 else "["

    page.keyboard.press(key)

    page.wait_for_url(f"**/s/{RICH}")


def test_brackets_follow_the_order_and_the_filter_of_the_list(
    browser_page: BrowserPage, claude: ClaudeHome, leslied: LesliedRunner
):
    for number, title in enumerate(
        ["Cherry tree", "Apple tree", "Banana", "Date tree"]
    ):
        write_session(claude, number, title)
    assert leslied("sync", "--stop-all").code == 0
    page = browser_page.open("/?q=tree&sort=title&group=none")
    expect(page.locator(".session-row")).to_have_count(3)
    page.click(".session-title:text-is('Apple tree')")
    page.wait_for_selector(".reader:not([aria-busy])")

    page.keyboard.press("]")
    page.wait_for_url(f"**/s/{make_session_id(0)}")
    # Pressed again at once, while that session is still loading.
    page.keyboard.press("]")
    page.wait_for_url(f"**/s/{make_session_id(3)}")


def test_brackets_reach_the_end_of_a_long_list(browser_page: BrowserPage):
    page = browser_page.page
    serve_index(page, 3000)
    page.route("**/api/sessions/costs", lambda route: route.abort())
    browser_page.open(f"/s/{RICH}")
    page.wait_for_selector(".reader:not([aria-busy])")
    neighbour = page.evaluate(
        """async ([id, step]) => {
          const { openNeighbour } = await import("/static/reader/neighbours.js");
          await openNeighbour(id, step);
          return location.pathname;
        }""",
        [make_session_id(2998), 1],
    )
    # That session exists only in the list, and the browser logs the error.
    page.wait_for_selector("[role=alert]")
    browser_page.problems.clear()

    assert neighbour == f"/s/{make_session_id(2999)}"


def test_escape_leads_back_to_the_list(browser_page: BrowserPage):
    page = open_session(browser_page, SAMPLE_PAGE)

    page.keyboard.press("Escape")

    page.wait_for_url(f"{browser_page.server.base}/")


def test_an_unknown_session_leads_to_the_list(browser_page: BrowserPage):
    page = browser_page.open("/s/zzz")
    page.wait_for_selector("[role=alert]")
    assert page.get_attribute("[role=alert] a", "href") == "/"
    # The browser logs the status of the answer.
    browser_page.problems.clear()

    assert "No session" in page.inner_text("[role=alert]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_rich_session_is_accessible(browser_page: BrowserPage, scheme: str):
    browser_page.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page = open_session(browser_page, RICH_PAGE)
    page.click("[data-subagent='aaa1'] > summary")
    page.keyboard.press("O")
    page.wait_for_selector("[data-subagent='aaa1'] .message")

    assert find_accessibility_problems(page) == []


def test_a_phone_shows_prompts_in_a_sheet_and_nothing_overflows(
    browser_page: BrowserPage,
):
    browser_page.page.set_viewport_size({"width": 390, "height": 800})
    page = open_session(browser_page, RICH_PAGE)
    page.keyboard.press("O")

    page.click(".prompts-button")
    page.click("dialog.rail-sheet a[data-unit='2']")
    page.wait_for_function("() => document.activeElement.id === 'unit-2'")

    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390


@pytest.mark.threat("W5")
def test_hostile_texts_are_inert(
    browser: Browser, leslied: LesliedRunner, claude: ClaudeHome
):
    write_hostile_session(claude)
    assert leslied("sync", "--stop-all").code == 0

    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = open_session(browser_page, f"/s/{HOSTILE}")
        page.keyboard.press("O")
        page.wait_for_function(
            "() => document.querySelectorAll('.call-body').length >= 50", timeout=60_000
        )
        problems = list(browser_page.problems)

    assert problems == []


def test_a_session_of_many_entries_is_loaded_while_it_is_read(
    browser: Browser, leslied: LesliedRunner, claude: ClaudeHome
):
    write_long_session(claude, units=60, answers=50)
    assert leslied("sync", "--stop-all").code == 0

    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = browser_page.open(f"/s/{LONG}")
        page.wait_for_selector(".reader:not([aria-busy]) #unit-1 .message")
        assert page.locator(".message-page.unloaded").count() > 0
        page.keyboard.press("G")
        page.wait_for_selector("text='Answer 60.50'")
        page.wait_for_function(
            "() => !document.querySelector('.message-page.unloaded')"
        )

        assert page.locator(".message").count() == 60 * 51
        assert browser_page.problems == []


def test_a_result_that_came_late_in_a_long_unit_is_shown_with_its_call(
    browser: Browser, leslied: LesliedRunner, claude: ClaudeHome
):
    write_unit_with_late_result(claude, answers=1200)
    assert leslied("sync", "--stop-all").code == 0

    with (
        serve_page(leslied) as server,
        open_browser_page(browser, server) as browser_page,
    ):
        page = browser_page.open(f"/s/{LONG}")
        page.wait_for_selector("#unit-1 .call:not(.unanswered)")

        assert browser_page.problems == []


@pytest.fixture
def append(leslied: LesliedRunner, claude: ClaudeHome) -> Callable[[str, int], None]:
    """Append an answer to the sample session, and read it."""

    def append(text: str, number: int) -> None:
        append_answer(claude, text, number)
        assert leslied("sync").code == 0

    return append


def test_new_messages_appear_while_the_reader_is_at_the_end(
    browser_page: BrowserPage, append: Callable[[str, int], None]
):
    page = open_session(browser_page, SAMPLE_PAGE)
    page.keyboard.press("G")

    append("Something new.", 1)

    page.wait_for_selector("text=Something new.")
    assert page.locator(".message:has-text('Something new.')").is_visible()


def test_new_messages_do_not_move_the_reader(
    browser_page: BrowserPage, append: Callable[[str, int], None]
):
    browser_page.page.set_viewport_size({"width": 1200, "height": 500})
    page = open_session(browser_page, SAMPLE_PAGE)
    page.click(".call.failed summary")
    top = page.evaluate("scrollY")

    append("Something new.", 1)
    page.wait_for_selector(".new-messages:visible")

    assert page.inner_text(".new-messages") == "1 new message ↓"
    assert page.evaluate("scrollY") == top
    assert page.locator(".call.failed[open]").count() == 1
    page.click(".new-messages")
    page.wait_for_selector(".new-messages", state="hidden")
