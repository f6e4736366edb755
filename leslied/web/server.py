"""The server: a socket on the loopback interface, and the loop that answers it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from leslied.errors import UserError
from leslied.paths import load_key
from leslied.web.access import Access

if TYPE_CHECKING:
    from collections.abc import Callable

    from leslied.app import App

DEFAULT_PORT = 7373
_HOST = "127.0.0.1"


def open_socket(port: int) -> socket.socket:
    """Listen on a port of the loopback interface, on any free one for port 0.

    Raise UserError if the port is in use or not allowed.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
    except OSError as error:
        listener.close()
        raise UserError(
            f"Port {port} cannot be used: {error.strerror}.",
            "Choose another one with --port, or any free one with --port 0.",
        ) from None
    listener.listen(64)
    return listener


def serve(app: App, listener: socket.socket, announce: Callable[[str], None]) -> None:
    """Answer requests until a signal arrives.

    `announce` gets the base of links with a code as soon as the server listens.
    """
    # The imports take 100 ms.
    import uvicorn  # noqa: PLC0415

    from leslied.web.application import make_application  # noqa: PLC0415

    port = listener.getsockname()[1]
    access = Access(load_key(app.paths.web_key_file), app.clock)
    config = uvicorn.Config(
        make_application(app, access, port),
        loop="asyncio",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    announce(f"http://{_HOST}:{port}/login?code={access.make_code()}")
    uvicorn.Server(config).run(sockets=[listener])
