"""The real `leslied web` server, raw requests to it, and its page in a browser."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.browser import find_browser
from tests.support.claude import ClaudeHome
from tests.support.cli import LesliedRunner
from tests.support.pages import write_sample_session
from tests.support.waiting import MAX_WAIT_SECONDS

AXE = Path(__file__).parents[1] / "browser/node_modules/axe-core/axe.min.js"


@dataclass
class WebServer:
    """A running server, and the cookie of a browser that has logged in."""

    link: str
    """The one-time link that it printed."""
    cookie: str = ""

    @property
    def port(self) -> int:
        return int(self.link.split(":")[2].partition("/")[0])

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log_in(self) -> None:
        """Use the link, and keep its cookie."""
        response = self.request("GET", self.link.removeprefix(self.base))
        self.cookie = str(response.headers["set-cookie"]).partition(";")[0]

    def request(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> WebResponse:
        """Send a request with the cookie, unless `headers` has another one."""
        sent = {"Cookie": self.cookie} if self.cookie else {}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=MAX_WAIT_SECONDS)
        with closing(connection):
            connection.request(method, path, body, sent | (headers or {}))
            return WebResponse.read(connection.getresponse())

    def get(self, path: str) -> Any:
        """Return the data of an endpoint; fail if the answer is an error."""
        response = self.request("GET", f"/api{path}")
        assert response.status == 200, response.body
        return json.loads(response.body)["data"]

    def change(self, method: str, path: str, values: dict[str, Any]) -> Any:
        """Ask for a change as the page does; return the data of the answer."""
        headers = {"X-Leslied-Token": self.find_token()}
        body = json.dumps(values).encode()
        response = self.request(method, f"/api{path}", headers, body)
        assert response.status == 200, response.body
        return json.loads(response.body)["data"]

    def find_token(self) -> str:
        """Return the form token in the page."""
        page = self.request("GET", "/").body.decode()
        match = re.search(r'name="leslied-token" content="([0-9a-f]+)"', page)
        assert match
        return match[1]

    def send_raw(self, data: bytes) -> bytes:
        """Send bytes as they are; return everything that comes back."""
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.settimeout(MAX_WAIT_SECONDS)
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))


@dataclass
class WebResponse:
    """A response that was read to its end."""

    status: int
    headers: dict[str, str]
    """Headers by name in lower case."""
    body: bytes = field(repr=False)

    @classmethod
    def read(cls, response: HTTPResponse) -> WebResponse:
        headers = {name.lower(): value for name, value in response.getheaders()}
        return cls(response.status, headers, response.read())


def assert_refused_with_a_hint(response: WebResponse) -> None:
    """Check that the API refused a request with a sentence and a next step."""
    error = json.loads(response.body)["error"]
    assert response.status == 400
    assert error["message"]
    assert error["hint"]


@contextmanager
def make_sample_home(folder: Path) -> Iterator[LesliedRunner]:
    """Make a home with the sample session, for tests that only ask."""
    home = folder / "home"
    home.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        leslied = LesliedRunner(home)
        claude = ClaudeHome(home, home / "unused.db", None)  # type: ignore[arg-type]
        write_sample_session(claude)
        assert leslied("sync", "--stop-all").code == 0
        yield leslied


@contextmanager
def serve_page(
    leslied: LesliedRunner, *options: str, port: int = 0
) -> Iterator[WebServer]:
    """Run `leslied web` on a port, any free one for 0, until the block ends; log in."""
    command = ("web", "--port", str(port), *options)
    process = leslied.start(*command, stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stdout.readline, "")
        link = next(line.strip() for line in lines if "/login?code=" in line)
        server = WebServer(link)
        server.log_in()
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=MAX_WAIT_SECONDS)


@contextmanager
def launch_browser() -> Iterator[Browser]:
    """Run the machine's browser, in which every page is new and empty."""
    # Playwright's driver warns about settings of npm that are not its own.
    environ = {k: v for k, v in os.environ.items() if not k.startswith("npm_")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            env=environ,
        )
        yield browser
        browser.close()


@dataclass
class BrowserPage:
    """A page in the browser, and everything that should not happen in it."""

    page: Page
    server: WebServer
    problems: list[str] = field(default_factory=list)
    """Console errors, uncaught exceptions and requests to other hosts."""

    def open(self, path: str) -> Page:
        """Open a path of the page and wait until it is idle."""
        self.page.goto(self.server.base + path)
        self.page.wait_for_selector("main > *")
        return self.page


@contextmanager
def open_browser_page(
    browser: Browser, server: WebServer, **options: Any
) -> Iterator[BrowserPage]:
    """Open a logged-in page; `options` are those of a browser context."""
    context = browser.new_context(**options)
    name, _, value = server.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": server.base}])
    page = context.new_page()
    page.set_default_timeout(MAX_WAIT_SECONDS * 1000)
    expect.set_options(timeout=MAX_WAIT_SECONDS * 1000)
    shown = BrowserPage(page, server)
    problems = shown.problems
    page.on("pageerror", lambda error: problems.append(f"uncaught: {error}"))
    page.on(
        "console",
        lambda m: problems.append(f"console: {m.text}") if m.type == "error" else None,
    )
    page.on(
        "request",
        lambda r: None if _is_own(r.url, server) else problems.append(f"to: {r.url}"),
    )
    yield shown
    context.close()


def _is_own(url: str, server: WebServer) -> bool:
    return url.startswith((server.base + "/", "data:", "blob:"))


def find_accessibility_problems(page: Page) -> list[str]:
    """Return what axe finds wrong: rule, and the elements that break it."""
    page.evaluate(AXE.read_text())  # The policy of the page forbids script elements.
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {[node['target'] for node in violation['nodes']][:5]}"
        for violation in result["violations"]
    ]
