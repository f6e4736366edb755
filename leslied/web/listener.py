"""The socket on the loopback interface. Importing this module is cheap."""

from __future__ import annotations

import errno
import socket
from typing import TypeAlias

from leslied.errors import UserError

HOST = "127.0.0.1"
_BACKLOG = 64


Listener: TypeAlias = socket.socket


class PortInUse(UserError):  # noqa: N818 - a state, not a failure
    """Another program listens on the port, perhaps another leslied."""


def open_socket(port: int) -> Listener:
    """Listen on a port of the loopback interface; port 0 means any free port.

    Raise PortInUse or UserError if the port cannot be used.
    """
    try:
        # The protocol is named because only then does asyncio turn off Nagle's
        # algorithm, which would delay most answers by 40 ms.
        listener = socket.socket(proto=socket.IPPROTO_TCP)
    except OSError as error:
        # A service that was installed without the page has no network at all.
        raise UserError(
            f"No port can be opened: {error.strerror}.",
            "If leslied is a service, install it again: leslied service install",
        ) from None
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        is_used = error.errno == errno.EADDRINUSE
        raise (PortInUse if is_used else UserError)(
            f"Port {port} cannot be used: {error.strerror}.",
            "Choose another one with --port, or any free one with --port 0.",
        ) from None
    return listener


def adopt_socket(descriptor: int) -> Listener:
    """Return the socket that the daemon opened and passed on.

    Raise UserError if it is not a socket that listens on the loopback interface.
    """
    try:
        listener = socket.socket(fileno=descriptor)
    except OSError:
        raise _make_adopt_error(descriptor) from None
    is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if not is_listening or listener.getsockname()[0] != HOST:
        listener.close()
        raise _make_adopt_error(descriptor)
    return listener


def make_link(port: int, code: str) -> str:
    """Return the link that logs in with a code."""
    return f"http://{HOST}:{port}/login?code={code}"


def _make_adopt_error(descriptor: int) -> UserError:
    return UserError(
        f"{descriptor} is not a socket that listens on {HOST}.",
        "Only the daemon uses this option.",
    )
