"""The threads page, over HTTP and in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.claude import SESSION, ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.html_payloads import PAYLOADS
from tests.support.queries import SECRET
from tests.support.thread_home import FORK, PLAN, PLAN_TEXT, THREAD, write_thread_home
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
def plan() -> str:
    return PLAN_TEXT


@pytest.fixture
def server(
    leslied: LesliedRunner, claude: ClaudeHome, plan: str
) -> Iterator[WebServer]:
    """The page of a home with a thread and its fork."""
    write_thread_home(claude, plan)
    assert leslied("sync", "--stop-all").code == 0
    with serve_page(leslied) as server:
        yield server


def test_the_api_shows_trees_threads_and_assets(server: WebServer):
    overview = server.get("/threads")
    thread = server.get(f"/threads/{THREAD}")
    asset = server.get(f"/threads/{THREAD}/asset?path={PLAN}")

    assert overview["projects"][0]["threads"][0]["children"][0]["id"] == FORK
    assert {each["type"] for each in thread["assets"]} >= {"plan", "progress"}
    assert asset["title"] == "The plan"
    assert SECRET not in json.dumps([overview, thread, asset])


@pytest.mark.parametrize(
    "path",
    [
        "/zzz",
        f"/{THREAD}/asset",
        f"/{THREAD}/asset?path=/etc/passwd",
        f"/{THREAD}/asset?path=..%2F..%2F..%2Fconfig.toml",
    ],
)
def test_a_wrong_request_gets_a_sentence_and_a_next_step(server: WebServer, path: str):
    response = server.request("GET", f"/api/threads{path}")

    assert_refused_with_a_hint(response)


@pytest.mark.heavy
def test_the_keyboard_leads_from_the_tree_to_the_plan(browser_page: BrowserPage):
    page = browser_page.open("/threads")
    page.wait_for_selector(".thread-tree a")

    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".asset-content h1:text-is('The plan')")
    assert f"thread={THREAD}" in page.url
    assert page.locator(".asset-content .meter").get_attribute("aria-valuenow") == "1"
    assert SECRET not in page.inner_text("main")


@pytest.mark.heavy
def test_an_asset_leads_to_the_call_that_wrote_it(browser_page: BrowserPage):
    page = browser_page.open(f"/threads?thread={THREAD}")

    page.click("text=written by claude-code")
    page.wait_for_url(f"**/s/{SESSION}#entry-*")


@pytest.mark.heavy
def test_the_fork_names_its_parent(browser_page: BrowserPage):
    page = browser_page.open(f"/threads?thread={FORK}")

    page.wait_for_selector("dt:text-is('Forked from')")
    assert page.locator(".thread-tree ul a[aria-current]").count() == 1


@pytest.mark.heavy
def test_the_filter_narrows_the_trees(browser_page: BrowserPage):
    page = browser_page.open("/threads")
    page.wait_for_selector(".thread-tree a")

    page.keyboard.press("/")
    page.keyboard.type("zzz")
    page.wait_for_selector("text=No thread matches.")
    assert page.url.endswith("?q=zzz")


@pytest.mark.heavy
@pytest.mark.parametrize("plan", ["# The plan\n\n" + "\n\n".join(PAYLOADS)])
def test_a_hostile_plan_is_inert(browser_page: BrowserPage):
    page = browser_page.open(f"/threads?thread={THREAD}")

    page.wait_for_selector(".asset-content :text('The plan')")
    assert page.locator(".asset-content :is(script, img, iframe, style)").count() == 0


@pytest.mark.heavy
@pytest.mark.parametrize("path", ["/threads", f"/threads?thread={THREAD}"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_is_accessible(
    browser: Browser, server: WebServer, path: str, scheme: str, width: int
):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with open_browser_page(browser, server, **options) as browser_page:
        page = browser_page.open(path)
        ready = ".asset-content h1" if "thread=" in path else ".thread-tree a"
        page.wait_for_selector(ready)

        assert find_accessibility_problems(page) == []
        assert page.evaluate("document.body.scrollWidth") <= width
        assert browser_page.problems == []
