"""The life of a server."""

from __future__ import annotations

import json
import os
import signal

import pytest

from leslied.app import App
from leslied.web.access import Access
from leslied.web.listener import open_socket
from leslied.web.server import Lifetime, _make_report, serve
from tests.support.queries import SECRET
from tests.support.web_thread import exchange, use_server


def test_the_port_is_recorded_while_the_server_runs(app: App):
    file = app.paths.web_port_file

    recorded, port = use_server(app, lambda port: (file.read_text(), port))

    assert recorded == str(port)
    assert not file.exists()


def test_an_idle_server_ends(app: App, access: Access):
    with open_socket(0) as listener:
        # It returns, because nobody connects.
        serve(app, access, listener, lambda: None, Lifetime(idle_seconds=0.1))


def test_a_server_ends_when_its_parent_has_ended(app: App, access: Access):
    reading_end, writing_end = os.pipe()

    def end_parent() -> None:
        os.close(writing_end)

    with open_socket(0) as listener:
        lifetime = Lifetime(parent_descriptor=reading_end)
        # It returns, because its parent ends.
        serve(app, access, listener, end_parent, lifetime)
    os.close(reading_end)


def test_the_handlers_of_signals_are_restored(app: App):
    before = signal.getsignal(signal.SIGTERM)
    use_server(app, lambda _: None)

    assert signal.getsignal(signal.SIGTERM) is before


def test_an_error_is_logged_without_its_message(app: App, capsys):
    _make_report(app)(ValueError(f"text of a session with {SECRET}"))

    line = json.loads(capsys.readouterr().err)
    assert line["event"] == "web.fail"
    assert "unexpected ValueError" in line["reason"]
    assert "session with" not in json.dumps(line)


@pytest.mark.threat("W6")
@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused_and_nothing_is_logged(
    app: App, capsys, data: bytes
):
    answer = use_server(app, lambda port: exchange(port, data))

    assert answer[9:12] in (b"400", b"403", b"")
    assert capsys.readouterr().err == ""
