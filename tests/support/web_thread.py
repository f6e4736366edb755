"""A server in the main thread, and its client in another one."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from typing import TypeVar

from leslied.app import App
from leslied.web.access import Access
from leslied.web.listener import open_socket
from leslied.web.server import Lifetime, serve
from tests.support.waiting import MAX_WAIT_SECONDS

_T = TypeVar("_T")


def use_server(app: App, use: Callable[[int], _T]) -> _T:
    """Serve the page until a function, which gets the port, has returned."""
    results: list[_T] = []
    reading_end, writing_end = os.pipe()

    def run(port: int) -> None:
        try:
            results.append(use(port))
        finally:
            os.close(writing_end)

    with open_socket(0) as listener:
        thread = threading.Thread(target=run, args=[listener.getsockname()[1]])
        access = Access(app.paths, app.clock)
        serve(app, access, listener, thread.start, Lifetime(None, reading_end))
        thread.join()
    os.close(reading_end)
    return results[0]


def exchange(port: int, data: bytes) -> bytes:
    """Send bytes and return everything until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(MAX_WAIT_SECONDS)
        client.sendall(data)
        return read_all(client)


def read_all(client: socket.socket) -> bytes:
    """Return everything until the server closes the connection, also by force."""
    received = b""
    while True:
        try:
            data = client.recv(65536)
        except ConnectionResetError:
            return received
        if not data:
            return received
        received += data
