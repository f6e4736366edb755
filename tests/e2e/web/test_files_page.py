"""The files page, over HTTP and in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.claude import ClaudeHome, ClaudeLogBuilder
from tests.support.cli import LesliedRunner
from tests.support.files import FIRST, NOTES, PARSER, write_file_sessions
from tests.support.html_payloads import PAYLOADS
from tests.support.queries import SECRET
from tests.support.web import (
    BrowserPage,
    WebServer,
    assert_refused_with_a_hint,
    find_accessibility_problems,
    open_browser_page,
    serve_page,
)

pytestmark = pytest.mark.e2e


@pytest.fixture
def server(leslied: LesliedRunner, claude: ClaudeHome) -> Iterator[WebServer]:
    """The page of a home whose sessions changed files."""
    write_file_sessions(claude)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


def test_the_api_lists_files_and_their_history(server: WebServer):
    files = server.get("/files?q=parser&sort=changes")
    history = server.get(f"/files/history?path={PARSER}")

    assert [file["path"] for file in files["files"]] == [PARSER]
    assert [each["outcome"] for each in history["revisions"]] == [
        "unanswered",
        "failed",
        "done",
        "done",
    ]
    assert SECRET not in json.dumps([files, history])


@pytest.mark.parametrize(
    "query",
    [
        "?sort=none",
        "?limit=x",
        "?limit=5001",
        "?other=1",
        "/history",
        "/history?path=/x",
    ],
)
def test_a_wrong_request_gets_a_sentence_and_a_next_step(server: WebServer, query: str):
    response = server.request("GET", f"/api/files{query}")

    assert_refused_with_a_hint(response)


@pytest.mark.heavy
def test_typing_narrows_the_list_and_stays_in_the_address(browser_page: BrowserPage):
    page = browser_page.open("/files")
    page.wait_for_selector("tbody a")

    page.keyboard.press("/")
    page.keyboard.type("notes")
    page.wait_for_selector("h1:text-is('1 file')")
    assert page.url.endswith("?q=notes")
    assert page.locator("tbody a").all_inner_texts() == ["notes.md"]


@pytest.mark.heavy
def test_the_keyboard_leads_from_the_list_to_the_conversation(
    browser_page: BrowserPage,
):
    page = browser_page.open("/files?sort=path")
    page.wait_for_selector("tbody a")

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".revision")
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/s/{FIRST}#entry-*")


@pytest.mark.heavy
def test_the_history_shows_diffs_prompts_and_failures(browser_page: BrowserPage):
    page = browser_page.open(f"/files?path={PARSER}")
    page.wait_for_selector(".revision")

    text = page.inner_text("main")
    assert "Fix the parser" in text
    assert "String to replace was not found." in text
    assert page.locator(".diff-line.removed").first.inner_text().endswith("a = 1")
    assert SECRET not in text


@pytest.mark.heavy
def test_a_file_that_nobody_changed_is_explained(browser_page: BrowserPage):
    page = browser_page.open("/files?path=/nowhere.py")

    page.wait_for_selector("text=No agent changed /nowhere.py")
    # The browser logs the status of the answer.
    browser_page.problems.clear()


@pytest.mark.heavy
@pytest.mark.parametrize("path", ["/files", f"/files?path={PARSER}", "/files?q=zzz"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_is_accessible(
    browser: Browser, server: WebServer, path: str, scheme: str, width: int
):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with open_browser_page(browser, server, **options) as browser_page:
        page = browser_page.open(path)
        page.wait_for_selector("tbody a, .revision, .message-box")

        assert find_accessibility_problems(page) == []
        assert page.evaluate("document.body.scrollWidth") <= width
        assert browser_page.problems == []


@pytest.mark.heavy
def test_the_filter_finds_nothing_and_offers_all_files(browser_page: BrowserPage):
    page = browser_page.open("/files?q=zzz")

    page.click("text=Show all files")
    page.wait_for_selector(f"tbody a[title='{NOTES}']")


@pytest.mark.heavy
def test_a_new_change_appears_while_the_page_is_open(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    page = browser_page.open("/files")
    page.wait_for_selector("h1:text-is('2 files')")
    builder = ClaudeLogBuilder("cccccccc-2222-4333-8444-555555555555")

    claude.write(
        builder.prompt("go"),
        builder.call("Write", {"file_path": "/x/new.py", "content": "x"}, "c9"),
        builder.result("c9", "ok"),
        name="-x/new.jsonl",
    )
    assert leslied("sync").code == 0
    page.wait_for_selector("tbody a[title='/x/new.py']")


@pytest.mark.heavy
def test_hostile_names_prompts_and_diffs_are_inert(
    browser_page: BrowserPage, leslied: LesliedRunner, claude: ClaudeHome
):
    text = "\n".join(PAYLOADS)
    name = "/x/" + PAYLOADS[3].replace("/", "_")
    builder = ClaudeLogBuilder("cccccccc-2222-4333-8444-555555555555")
    claude.write(
        builder.prompt(PAYLOADS[0]),
        builder.call("Write", {"file_path": name, "content": text}, "c9"),
        builder.result("c9", "ok"),
        name="-x/new.jsonl",
    )
    assert leslied("sync").code == 0

    page = browser_page.open("/files?q=onerror")
    page.click("tbody a")
    page.wait_for_selector(".revision .diff")
    page.click(".diff-more")
    assert page.locator("main :is(script, img, iframe, style)").count() == 0
    assert page.locator(".diff-line").count() == len(text.split("\n"))
