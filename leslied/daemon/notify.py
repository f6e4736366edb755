"""Notify the service manager with the sd_notify(3) protocol, without its library."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEND_TIMEOUT_SECONDS = 1.0
"""Seconds after which a message that the manager does not accept is dropped."""


class Notifier:
    """Client of the socket in `NOTIFY_SOCKET`; does nothing if the variable is unset.

    Methods never raise: the daemon works without a service manager.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = os.fsencode(environ.get("NOTIFY_SOCKET", ""))
        # Linux sockets without a file have "@" in the variable, but NUL as an address.
        is_abstract = address.startswith(b"@")
        self._address = b"\0" + address[1:] if is_abstract else address

    def ready(self) -> None:
        """Report that the daemon has started."""
        self._send("READY=1")

    def ping(self) -> None:
        """Reset the manager's watchdog timer. Call this only after progress."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Report that the daemon is shutting down on purpose."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        socket_type = socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)
        with (
            suppress(OSError, ValueError),
            socket.socket(socket.AF_UNIX, socket_type) as client,
        ):
            client.settimeout(_SEND_TIMEOUT_SECONDS)
            client.connect(self._address)
            client.sendall(message.encode("utf-8", "replace"))
