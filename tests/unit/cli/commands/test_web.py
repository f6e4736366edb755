"""`leslied web`: links, logging out, and ports that are in use."""

from __future__ import annotations

import re
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from leslied.app import App
from leslied.cli import leslied
from leslied.cli.commands import web
from leslied.clock import SystemClock
from leslied.paths import get_paths
from leslied.web.access import Access
from leslied.web.listener import PortInUse
from tests.support.web_thread import use_server


@pytest.fixture
def app(home: Path) -> App:
    environ = {"HOME": str(home)}
    return App(environ, get_paths(environ), SystemClock())


def invoke(*options: str) -> Result:
    return CliRunner().invoke(leslied, ["web", *options])


def test_the_link_of_a_running_server_is_printed(app: App):
    port, result = use_server(app, lambda port: (port, invoke()))

    match = re.search(rf"http://127.0.0.1:{port}/login\?code=(\S+)", result.output)
    assert match
    assert Access(app.paths, app.clock).redeem(match[1])


def test_a_port_with_a_running_server_gives_its_link(app: App):
    _, result = use_server(app, lambda port: (port, invoke("--port", str(port))))

    assert (result.exit_code, "/login?code=" in result.output) == (0, True)


@pytest.mark.threat("W3")
@pytest.mark.usefixtures("app")
def test_a_foreign_program_on_the_port_gets_no_link():
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        result = invoke("--port", str(server.server_address[1]))
        thread.join()

    assert isinstance(result.exception, PortInUse)
    assert "code=" not in result.output


def test_the_port_of_the_settings_is_the_default(app: App, monkeypatch):
    app.paths.config_file.parent.mkdir(parents=True)
    app.paths.config_file.write_text("[web]\nport = 7419\n")
    ports: list[int] = []

    def refuse(port: int) -> Any:
        ports.append(port)
        raise PortInUse("Port in use.", "Choose another one.")

    monkeypatch.setattr(web, "open_socket", refuse)
    monkeypatch.setattr(web, "is_running", lambda *_: False)
    result = invoke()

    assert ports == [7419]
    assert isinstance(result.exception, PortInUse)


def test_logging_out_ends_all_cookies(app: App):
    access = Access(app.paths, app.clock)
    cookie = access.redeem(access.make_code())
    assert cookie

    result = invoke("--logout")

    assert "logged out" in result.output
    assert access.find_valid_cookie([cookie]) is None


def test_the_page_is_opened_on_request(app: App, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)

    use_server(app, lambda _: invoke("--open"))

    assert len(opened) == 1
    assert "/login?code=" in opened[0]
