"""Connections of slow clients, and of too many."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from http.client import HTTPConnection

import pytest

from leslied.app import App
from leslied.web import connection
from leslied.web.access import Access
from tests.support.asgi import make_login
from tests.support.waiting import MAX_WAIT_SECONDS, wait_until
from tests.support.web_thread import exchange, read_all, use_server

pytestmark = pytest.mark.threat("W6")


@pytest.fixture
def app(app: App, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(connection, "READING_SECONDS", 0.3)
    return app


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX",
        b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
        b"POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
)
def test_a_request_that_does_not_end_is_closed(app: App, data: bytes):
    answer = use_server(app, lambda port: exchange(port, data))

    assert b" 200 " not in answer


def test_a_request_that_arrives_byte_by_byte_is_closed(app: App):
    def trickle(port: int) -> bool:
        with socket.create_connection(("127.0.0.1", port)) as client:

            def is_closed() -> bool:
                try:
                    client.sendall(b"a")
                except OSError:
                    return True
                return False

            wait_until(is_closed)
            return True

    assert use_server(app, trickle)


def test_a_client_that_does_not_read_is_closed(app: App, access: Access):
    (_, cookie), _ = make_login(access)
    name, _, value = cookie.partition(b"=")

    def ask_without_reading(port: int) -> bool:
        head = b"GET /static/app.js HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port
        head += b"Cookie: leslied-%d=%s\r\n\r\n" % (port, value)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(MAX_WAIT_SECONDS)

            def is_closed() -> bool:
                try:
                    client.sendall(head * 200)
                except OSError:
                    return True
                return False

            wait_until(is_closed)
            return True

    assert name
    assert use_server(app, ask_without_reading)


def test_beyond_the_limit_clients_are_refused(
    app: App, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(connection, "REQUEST_SECONDS", MAX_WAIT_SECONDS)

    def connect_often(port: int) -> bytes:
        with ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.settimeout(MAX_WAIT_SECONDS)
                return read_all(client)

    assert use_server(app, connect_often) == b""


def test_a_complete_request_is_answered_and_may_be_followed_by_another(app: App):
    def ask_twice(port: int) -> list[int]:
        connection = HTTPConnection("127.0.0.1", port, timeout=MAX_WAIT_SECONDS)
        with closing(connection):
            statuses = []
            for _ in range(2):
                connection.request("GET", "/identity")
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
            return statuses

    assert use_server(app, ask_twice) == [200, 200]
